"""What posteriors of all models consist of: factors of labels, directions, concentrations, weights; their priors."""
