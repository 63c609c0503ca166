"""What a failed call raises; see ``failure.pyx``."""
from phintys.vm.machine.frame cimport Machine

cdef tuple what_failed(Machine* machine, program, error)
