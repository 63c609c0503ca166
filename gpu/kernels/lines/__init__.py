"""Work along lines by several kernels: cumulative sums, sorting, selections whose length follows from values."""
