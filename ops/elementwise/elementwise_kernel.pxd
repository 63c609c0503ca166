"""The elementwise kernel: see ``elementwise_kernel.pyx``."""
from phintys.ops.elementwise.block_program cimport BlockProgram
from phintys.vm.abi cimport Kernel

cdef class ElementwiseKernel(Kernel):
    cdef readonly BlockProgram program
    cdef int leader                      # an input of full rank and shape, whose order the results take; or -1
