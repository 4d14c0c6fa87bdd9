"""The geometry of the unit sphere: von Mises-Fisher functions, sampling, seeding and the compiled passes."""
