"""Batch fits of a run file, in the foreground or in a process of their own."""
