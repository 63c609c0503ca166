"""Sparse matrices in the formats CSR and CSC: their type, their variables, and ops that compute with SciPy."""
