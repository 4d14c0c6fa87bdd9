"""Words of one topic over time."""
