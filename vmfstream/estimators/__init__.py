"""Estimators in the form of scikit-learn."""
