"""What the posteriors of all models consist of: factors of directions, concentrations, weights; their priors."""
