"""Uniform numbers of NumPy's generators on the device: ``(state, size, parameter, ..., new state, sample)``.

The state is on the host, and so is the new one, which follows from it and from how many words of 64 bits are used: the
processor computes it while the device draws. Each thread finds its words by itself, so this is for generators whose
word number n follows from the state and n: PCG64, PCG64DXSM and Philox. The state is copied to the device, and not
passed by value, so that the launch of each call is the same, and is replayed.
"""
from libc.stdint cimport uint64_t
from numpy cimport npy_intp

from phintys.gpu.kernels.described.random import draw_source
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport Arguments, put_address, put_integer, set_failure, upload
from phintys.gpu.runtime.kernel cimport MOST_BLOCKS, THREADS, DeviceKernel
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.random.draw_kernel import DrawKernel
from phintys.ops.random.generator_states import KINDS
from phintys.ops.random.samples cimport generator_of_copy
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, cell_size, device_memory
from phintys.vm.pool cimport Buffer, buffer_release

cdef extern from *:
    """
    #include "random/bit_generators.h"
    enum {PHINTYS_DRAW_BITS = 24, PHINTYS_DRAW_WORDS = PHINTYS_OWN + 11 + 4 * PHINTYS_DRAW_BITS};
    /* What the kernels read: the state. For PCG64, the factor and the offset of as many steps as there are threads
     * follow it, then those of 1, 2, 4, ... steps. */
    static void phintys_words_of_draw(const uint64_t* state, uint64_t threads, uint64_t* words) {
        const int length = phintys_state_words[state[PHINTYS_KIND]];
        memcpy(words, state, length * sizeof *words);
        if (state[PHINTYS_KIND] != PHINTYS_PHILOX) {
            phintys_uint128 factor = phintys_pcg_multiplier(state[PHINTYS_KIND]);
            phintys_uint128 offset = phintys_wide(state + PHINTYS_OWN + 2);
            phintys_many_steps(threads, &factor, &offset);
            phintys_set_wide(words + length, factor);
            phintys_set_wide(words + length + 2, offset);
            factor = phintys_pcg_multiplier(state[PHINTYS_KIND]);
            offset = phintys_wide(state + PHINTYS_OWN + 2);
            for (int bit = 0; bit < PHINTYS_DRAW_BITS; bit++) {
                phintys_set_wide(words + length + 4 + 4 * bit, factor);
                phintys_set_wide(words + length + 6 + 4 * bit, offset);
                offset = offset * factor + offset, factor *= factor;
            }
        }
    }
    /* The state after a number of samples; those of float32 are made of halves of words. */
    static void phintys_after_draw(uint64_t* state, uint64_t count, int narrow) {
        void (*advance)(uint64_t*, uint64_t) = state[PHINTYS_KIND] == PHINTYS_PHILOX ? phintys_philox_advance
                                                                                     : phintys_pcg64_advance;
        if (!narrow) {
            advance(state, count);
            return;
        }
        if (count && state[PHINTYS_HAS_HALF]) {
            state[PHINTYS_HAS_HALF] = 0;
            count--;
        }
        if (count) {
            advance(state, (count + 1) / 2 - 1);
            state[PHINTYS_HALF] = phintys_bit_generator(state).next_uint64(state) >> 32;
            state[PHINTYS_HAS_HALF] = count & 1;
        }
    }
    """
    enum:
        PHINTYS_DRAW_WORDS
        PHINTYS_HAS_HALF
        PHINTYS_KIND
        PHINTYS_PHILOX
    void phintys_words_of_draw(const uint64_t* state, uint64_t threads, uint64_t* words) nogil
    void phintys_after_draw(uint64_t* state, uint64_t count, bint narrow) nogil

phintys_set = set_of_process()

cdef enum:
    EACH = 4                        # words of a thread, at least: those of a block of Philox
    MOST_OF_PCG = 8                 # blocks for each multiprocessor: a thread begins with some 10 steps of its own

COUNTED = tuple([KINDS.index(name) for name in ("PCG64", "PCG64DXSM", "Philox")])


cdef class GpuDrawKernel(DeviceKernel):
    """See the docstring of the file; the arguments are those of the processor's kernel."""
    cdef Kernel host
    cdef int kind, count
    cdef bint narrow

    def __init__(self, name, kind, parameters, dtype):
        self.host = DrawKernel(name, kind, parameters)
        self.kind, self.count, self.narrow = kind, len(parameters), dtype == "float32"
        self.examined, self.binding, self.private_bytes = self.host.examined, BOUND, self.host.private_bytes
        self.source, self.names = draw_source(KINDS[kind], dtype), ("draw",)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.ready()
        self.host.prepare(context, operands)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* sample = operands[3 + self.count]
        cdef uint64_t* state = <uint64_t*>generator_of_copy(operands[0], operands[2 + self.count], self.kind).state
        cdef uint64_t words[PHINTYS_DRAW_WORDS]
        cdef npy_intp count = cell_size(sample)
        cdef npy_intp blocks = blocks_of(words_for(count, self.narrow, state[PHINTYS_HAS_HALF] != 0),
                                         state[PHINTYS_KIND] == PHINTYS_PHILOX)
        cdef Arguments arguments
        cdef Buffer* buffer
        cdef int error
        if count == 0:
            return 0
        phintys_words_of_draw(state, blocks * THREADS, words)
        phintys_after_draw(state, count, self.narrow)
        buffer = device_memory.acquire(sizeof(words))
        if buffer == NULL:
            return set_failure(2, b"the state of a generator")
        error = upload(buffer, <const char*>words, sizeof(words))
        if error:
            set_failure(error, b"copying the state of a generator")
        else:
            arguments.size, arguments.full = 0, False
            put_integer(&arguments, count)
            put_integer(&arguments, <npy_intp>buffer.data)
            put_address(&arguments, sample)
            error = self.start(0, blocks, THREADS, &arguments)
        buffer_release(buffer)                      # work is done in order
        return -1 if error else 0


cdef inline npy_intp words_for(npy_intp count, bint narrow, bint has_half) noexcept nogil:
    """How many words of 64 bits are used."""
    return (count - has_half + 1) // 2 if narrow else count


cdef inline npy_intp blocks_of(npy_intp words, bint is_philox) noexcept nogil:
    """Enough that a thread has about EACH words, where there are so many."""
    cdef npy_intp blocks = (words + EACH * THREADS - 1) // (EACH * THREADS)
    blocks = min(blocks, <npy_intp>(MOST_BLOCKS if is_philox else driver.multiprocessors * MOST_OF_PCG))
    return blocks if blocks else 1
