"""The loop from documents to commits: admit, learn a batch, end a slice, write."""
