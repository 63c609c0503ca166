"""What stands in for the GIL where Python has none; see ``free_threads.h``."""
from phintys.vm.python_api cimport PyObject

cdef extern from "free_threads.h" nogil:
    ctypedef struct Latch "phintys_latch":
        pass
    ctypedef struct Turn "phintys_turn":
        pass
    void shut "phintys_shut" (Latch*)
    void open_latch "phintys_open" (Latch*)
    void take_turn "phintys_take_turn" (Turn*, PyObject*)
    void end_turn "phintys_end_turn" (Turn*, PyObject*)
    Py_ssize_t references "phintys_references" (PyObject*)
    void publish "phintys_publish" (long*, long)
    long published "phintys_published" (const long*)
    void add_to "phintys_add" (int*, int)
