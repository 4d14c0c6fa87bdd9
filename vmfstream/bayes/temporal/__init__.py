"""The mixture along a chain of slices: what is known as slices come, and what they say in hindsight."""
