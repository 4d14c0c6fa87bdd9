"""All topics on a sphere: similar ones near each other, with trails of their drift."""
