"""New arrays: allocation, ranges, identity matrices, grids and files; and the representation of None in kernels."""
