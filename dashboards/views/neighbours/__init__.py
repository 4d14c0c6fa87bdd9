"""One topic, its past, and its neighbours by angle."""
