"""Bayesian mixtures of von Mises-Fisher distributions: flat, and along a chain of slices."""
