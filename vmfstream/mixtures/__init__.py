"""Maximum-likelihood mixtures on the unit sphere, their seeding and the estimates of concentration."""
