"""Factorizations of matrices: Cholesky, LU, QR, eigenvalues and singular values, and functions computed from them."""
