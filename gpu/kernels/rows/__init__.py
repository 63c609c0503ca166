"""Rows: folds along them, and what is computed from their elements and the folds; softmax, batch normalization."""
