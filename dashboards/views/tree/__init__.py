"""A hierarchy of topics."""
