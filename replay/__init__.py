"""Stored documents as streams: the built-in news, known corpora and any file, in order of time."""
