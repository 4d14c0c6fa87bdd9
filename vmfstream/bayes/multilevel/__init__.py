"""The MC2 sampler: clusters of groups and topics of their tokens; finds the number of both."""
