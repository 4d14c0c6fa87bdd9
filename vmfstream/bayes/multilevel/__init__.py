"""Clusters of groups and topics of their tokens, both numbers found: the sampler of MC2."""
