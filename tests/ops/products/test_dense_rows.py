"""The rows of the table of ops on dense tensors whose ops are in ``ops/products``."""
from dense_checks import *  # noqa: F403
