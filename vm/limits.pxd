"""The largest rank of an array, for every index, shape and list of strides that has a place for each dimension.

It is NumPy's limit (``NPY_MAXDIMS``), and the width of a mask with a bit for each dimension. ``TensorType`` refuses
more dimensions, so no kernel has to check. Headers in C read the macro; a ``.pxd`` file that declares such a header
cimports ``MAX_RANK`` before.
"""
cdef extern from *:
    """
    #define PHINTYS_MAX_RANK 64
    """
    enum:
        MAX_RANK "PHINTYS_MAX_RANK"
