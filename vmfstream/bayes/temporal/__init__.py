"""The mixture along a chain of slices: filter, smoother and mean field."""
