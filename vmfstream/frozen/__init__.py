"""Frozen models: label texts under what a run knows at one moment, without learning from them."""
