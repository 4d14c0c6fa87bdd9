"""The mixture whose topics are the leaves of a tree."""
