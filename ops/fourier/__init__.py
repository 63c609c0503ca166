"""Fourier transforms: one op along one axis, the functions of NumPy's ``fft`` and Theano's ``tensor.fft``."""
