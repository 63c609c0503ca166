"""The rows of the table of ops on dense tensors whose ops are in ``ops/fourier``."""
from dense_checks import *  # noqa: F403
