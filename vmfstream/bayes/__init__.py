"""Bayesian models of directions, one folder each; ``factors`` holds the variational factors that they share.

``flat``          every document has one topic
``temporal``      mean directions change from slice to slice
``hierarchical``  topics are the leaves of a tree
``admixture``     documents mix topics
``multilevel``    groups are clustered by their tokens and their contexts

Shared by all: ``starts`` (initial responsibilities), ``convergence`` (when a fit stops), ``predictive`` (predictive
densities of documents) and ``tempering`` (calibrated probabilities).
"""
