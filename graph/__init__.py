"""Floor 1: graphs. Types, variables, Apply nodes, ops, FunctionGraph, walks over graphs, options and errors.

Nothing here knows arrays, kernels or programs.
"""
