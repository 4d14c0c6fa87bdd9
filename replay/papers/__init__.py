"""Compute published tables and figures again and compare them with the printed values."""
