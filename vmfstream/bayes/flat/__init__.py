"""The Bayesian mixture, every document of one topic: by factors, by draws, by modes; the number given or found."""
