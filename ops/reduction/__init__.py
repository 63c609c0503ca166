"""Reductions over axes: sums, extrema, truth, means, argmax; also fused with the elementwise work before them.

``careduce`` has the ops, ``reduction`` the functions, ``folds`` says which built-in loop runs a reduction.
"""
