"""The MC2 sampler: cluster groups and find topics of their tokens; the numbers of clusters and topics are inferred."""
