"""Products of vectors, matrices and tensors: ``dot``, the ops of BLAS, batched products, ``tensordot``."""
