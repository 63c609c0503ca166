"""Arguments of kernels that find the places of elements: division by multiplication."""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments, put

cdef inline void put_divider(Arguments* arguments, npy_intp length) noexcept nogil:
    """Add a ``Divider`` of ``vector_source.py``, four words: the quotient of a number below 2**31 by a length, which is
    from 1 to 2**31, is the upper word of a product, and the number, shifted."""
    cdef unsigned words[4]
    cdef unsigned index
    words[0], words[2], words[3] = <unsigned>length, 0, 0
    while (<unsigned long long>1 << words[2]) < <unsigned long long>length:
        words[2] += 1
    words[1] = <unsigned>((((<unsigned long long>1 << words[2]) - <unsigned long long>length) << 32)
                          // <unsigned long long>length + 1)
    for index in range(4):
        put(arguments, <const char*>&words[index], 4)
