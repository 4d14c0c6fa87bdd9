"""Follows topics in a stream of documents and shows how their words change."""
