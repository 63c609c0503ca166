"""Reductions over axes: sums, extrema, truth, means and argmax, also fused with the preceding elementwise operations.

``careduce`` defines the ops, ``reduction`` the functions, and ``folds`` selects the built-in loop for a reduction.
"""
