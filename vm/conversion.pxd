"""Conversion of call arguments without Python code; see ``conversion.pyx``."""

cdef enum Downcast:                 # ``allow_downcast`` of an argument
    FORBIDDEN, ALLOWED, FLOATS_TO_FLOATX

cdef struct Target:                 # what an argument is to become
    int typenum                     # -1: no array
    int ndim
    bint plain                      # `filter` follows the rules that `conversion.pyx` knows
    Downcast downcast
    unsigned long long lossless     # bit per type number: arrays of this type convert, whatever they hold

# The number at ``place``, converted. Returns 0 when only ``Type.filter`` can say what becomes of the value.
cdef bint number_into(const Target* target, object value, char* place) except -1
# A new array of the target's dtype, or None when only ``Type.filter`` can say. The rank may be another.
cdef object array_from(const Target* target, object value)
# The mask of ``Target.lossless`` for a list of type numbers.
cdef unsigned long long mask_of(object typenums) except? 0
