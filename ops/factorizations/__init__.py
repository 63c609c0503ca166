"""Factorizations of matrices: Cholesky, LU, QR, eigenvalues and singular values, and what follows from them."""
