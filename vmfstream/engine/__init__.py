"""Drives a source through encoder and tracker into a store."""
