"""Bayesian models of directions, a folder each, and ``factors``, what the posteriors of all of them consist of.

``flat``          every document has one topic
``temporal``      topics turn from slice to slice
``hierarchical``  topics are the leaves of a tree
``admixture``     documents mix topics
``multilevel``    groups are clustered by their tokens and their contexts

Beside them: ``starts``, where fits begin; ``sweeps``, when they are over; ``predictive``, densities of documents under
beliefs; ``tempering``, probabilities that are right as often as they say.
"""
