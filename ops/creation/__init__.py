"""New arrays: allocation, ranges, identity matrices, grids, files; and arguments for which None was passed."""
