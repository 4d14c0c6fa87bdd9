"""The Bayesian mixture with one topic per document: variational, Gibbs and MAP inference; K given or found."""
