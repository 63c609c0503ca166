"""The elementwise kernel: see ``elementwise_kernel.pyx``."""
from phintys.ops.elementwise.block_code cimport BlockCode
from phintys.ops.elementwise.register_code cimport RegisterCode
from phintys.vm.abi cimport Kernel

cdef class ElementwiseKernel(Kernel):
    cdef readonly object given_code      # ScalarCode; blocks.code is the one that the blocks carry out
    cdef readonly BlockCode blocks
    cdef int leader                      # an input without broadcast dimensions, whose order the results get; or -1
    cdef readonly RegisterCode scalars     # for single numbers, if operands have one element each; or None
    cdef int set_scalars(self, object code, list patterns) except -1
