"""What runs during a call: the interpreter, programs in C, frames, results, copies, groups of kernels."""
