"""Topics followed through a stream: one pass, slice by slice."""
