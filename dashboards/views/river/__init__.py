"""Sizes of all topics over time."""
