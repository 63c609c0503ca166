"""Indexing: basic (views), advanced (copies), and assignment to parts; take, choose, nonzero and permutations."""
