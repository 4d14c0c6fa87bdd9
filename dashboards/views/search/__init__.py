"""Topics that use a word."""
