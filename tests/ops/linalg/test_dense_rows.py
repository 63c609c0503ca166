"""The rows of the table of ops on dense tensors whose ops are in ``ops/linalg``."""
from dense_checks import *  # noqa: F403
