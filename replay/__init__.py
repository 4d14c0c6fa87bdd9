"""Replay stored documents as streams in order of time: the planted stream, corpora by name, and files.

To add a corpus, see `vmfstream.replay.corpora`.
"""
