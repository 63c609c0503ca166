"""What runs during a call: the interpreter, callables, containers, claims, groups of kernels."""
