"""Floor 1: graphs. Types, variables, Apply nodes, ops, FunctionGraph, traversals, options and errors.

Nothing in this folder depends on arrays, kernels or programs.
"""
