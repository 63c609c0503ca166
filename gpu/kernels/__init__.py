"""Kernels of the device, a family a file: a source in CUDA's C++, and the class that launches it."""
