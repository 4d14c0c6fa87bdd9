"""Comparison of two dates, or of two topics."""
