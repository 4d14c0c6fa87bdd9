"""Stories: many narrow clusters in one pass, a sequential Dirichlet-process mixture of vMF distributions."""
