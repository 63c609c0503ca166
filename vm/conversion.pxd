"""Conversion of call arguments without Python code; see ``conversion.pyx``."""

cdef enum Downcast:                 # ``allow_downcast`` of an argument
    FORBIDDEN, ALLOWED, FLOATS_TO_FLOATX

cdef struct Target:                 # what an argument is to become
    int typenum                     # -1: not an array
    int ndim
    bint plain                      # `filter` follows the rules in `conversion.pyx`
    Downcast downcast
    unsigned long long lossless     # one bit per type number: arrays of this type convert, whatever their values

# Write the converted number to ``address``. Returns 0 if only ``Type.filter`` can decide.
cdef bint number_into(const Target* target, object value, char* address) except -1
# A new array of the target's dtype, possibly of another rank, or None if only ``Type.filter`` can decide.
cdef object array_from(const Target* target, object value)
# The mask of ``Target.lossless`` for a list of type numbers.
cdef unsigned long long mask_of(object typenums) except? 0
