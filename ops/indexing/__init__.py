"""Indexing: basic (views), advanced (copies), and the assignment to parts; take, choose, nonzero, permutations."""
