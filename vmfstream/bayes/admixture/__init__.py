"""The Dirichlet admixture: documents that mix topics."""
