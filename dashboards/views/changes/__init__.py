"""Sentences on recent changes."""
