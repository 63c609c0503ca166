"""Products of vectors, matrices and tensors: ``dot``, the ops for BLAS, batched products, ``tensordot``."""
