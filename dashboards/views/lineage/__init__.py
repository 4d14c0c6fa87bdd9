"""Births, splits, merges and ends of topics."""
