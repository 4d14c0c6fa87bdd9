"""Variational factors shared by all models, of labels, directions, concentrations and weights; and their priors."""
