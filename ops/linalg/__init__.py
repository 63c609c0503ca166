"""Linear algebra: diagonals, triangles, covariance matrices, ``einsum``."""
