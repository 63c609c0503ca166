"""How much work is worth leaving the GIL, and how much is worth a worker: each threshold with its measurement.

Leaving the GIL takes little time while no other thread wants it. But a thread that computes in Python gives it back
only after ``sys.getswitchinterval()``, 5 ms; so short work keeps it. ``LONG_...`` is the amount of work that is said to
take about 20 us, from which ``prepare`` returns 1 or RUNS_ALONE. ``PIECE_...`` is the amount for about 25 us, the
smallest piece for which a worker is woken. Kernels that do not know what an element costs count what is named here:
elements, bytes, multiplications.

The comments say what one call with exactly this amount took, beyond the same call with one element: the best of 2,000
calls on one thread, with operands in float64 that were in the L2 cache (2 MiB) unless noted, on a Xeon of 2.6 GHz with
AVX-512 (family 6, model 167). Where this is far from 20 us, the number was chosen on another processor, which was not
recorded, or for operands that come from memory, for other dtypes or for other values. A line without a time was not
measured by itself.
"""
cdef enum:
    # Kernels that know what an element costs.
    LONG_NANOSECONDS = 20000
    PIECE_NANOSECONDS = 25000
    NEAR_BYTES = 2097152                # of all operands: more do not fit in a L2 cache, so that beside its arithmetic
    FAR_BYTES = 40                      # an element takes a nanosecond for so many of its bytes: 2*a + 3*b 0.8 ns

    # Moving memory.
    LONG_CAST = 20000                   # elements of an argument: int64 to float64 5.4 us
    LONG_COPY = 131072                  # bytes written: alloc 1.1, join 2.7, repeat 3.0, transposed copy 6.3 us;
    #                                     about 20 us from memory, as measured when it was chosen

    # Indexing.
    LONG_TAKE = 16384                   # rows that are taken: single elements of a table of 80 MB 65 us
    LONG_TAKE_BYTES = 131072            # bytes that are taken: rows of 1 KiB 3.8 us
    LONG_SCATTER = 8192                 # positions of an advanced index: taken 11, added at 11.2 us
    LONG_SCATTER_BYTES = 65536          # bytes that they move: the same calls
    PIECE_INDEXED_BYTES = 131072
    LONG_CHOOSE = 16384                 # elements: random choices of two arrays 20 us
    LONG_FLAT_INDEX = 4096              # positions times dimensions: unravel_index in two dimensions 9.2 us
    LONG_NONZERO = 32768                # elements of a mask: 5.6 us, with one in ten or every second one true

    # Searching and counting.
    LONG_SEARCH = 1000                  # needles: in 10,000 numbers 12.4 us
    PIECE_SEARCH = 2000
    LONG_ARG = 20000                    # elements: 200 lines of 100 3.6 us
    PIECE_ARG = 32768
    LONG_SORT = 4000                    # comparisons: elements of all lines times the logarithm of a line's length
    PIECE_SORT = 12000

    # Transforms.
    LONG_FOURIER = 15000                # elements times the logarithm of a line's length
    PIECE_FOURIER = 20000

    # One result depends on the one before.
    LONG_CUMULATIVE = 20000             # elements: cumsum 11.2 us

    # Multiplications of products.
    LONG_MATRIX = 200000                # matrix by matrix, 58 x 58: 5.6 us
    LONG_VECTOR = 40000                 # matrix by vector, 200 x 200: 4.3 us; outer product of 200 by 200 6.4 us
    LONG_BATCHED = 200000               # 50 products of 16 x 16: 8.6 us
    # Two workers are quicker than one, in the median, from about twice these on: where a processor that is idle
    # sleeps (a virtual machine), another worker begins 50 us late. 150 x 150: one 85, two 119 us; 200 x 200: 214, 187.
    # By a vector, 600 x 600: 76, 99 us; 800 x 800: 174, 118. `are_worth` of the products says from where on two are
    # worth it on other processors, and for workers that look for their next loop.
    PIECE_MATRIX = 2500000
    PIECE_VECTOR = 250000
    # From here on a product is worth a worker beside others.
    ALONE_MATRIX = 900000               # 97 x 97: 24.6 us
    ALONE_VECTOR = 100000

    # Multiplications of factorizations and solutions, and 100 for each call of LAPACK.
    LONG_FACTORIZATION = 30000          # cholesky and solution of 30 x 30, 9000 and 20000 of them, 1.9 and 4.8 us
    PIECE_FACTORIZATION = 150000        # of a stack: about 25 us
    THREADED_FACTORIZATION = 4000000    # of one matrix: below, OpenBLAS's threads wait longer for each other than they
    #                                     compute: a solution of 6 x 6 with 6 columns then takes two of them 2.5 ms

    # Networks.
    LONG_SOFTMAX = 10000                # elements: 100 lines of 100 9.7 us
    PIECE_SOFTMAX = 12000
    LONG_CROSSENTROPY = 10000           # lines: of 3 numbers 37 us
    LONG_BATCH_NORMALIZATION = 30000    # elements: 300 lines of 100 10.7 us
    PIECE_BATCH_NORMALIZATION = 32768
    LONG_CONVOLUTION = 600000           # multiplications: 14 filters of 8 x 3 x 3, 26 x 26: 15, by filters 24.5 us
    PIECE_CONVOLUTION = 600000          # twice these: 8 images of 8 channels, 16 x 16: 36; two workers, awake, 21 us

    # Windows of images.
    LONG_POOL = 40000                   # elements of the images, 4 of 100 x 100: maxima of 2 x 2 16, of 3 x 3 at
    #                                     steps of 2 33, their gradient 25 us
    PIECE_POOL = 50000                  # 20, 41 and 31 us; twice these: 39, 81, 69, and by two awake workers 37, 42, 33

    # Random numbers.
    LONG_MRG = 40000                    # samples of MRG31k3p
    PIECE_MRG = 50000
    LONG_NORMAL = 12000                 # normal samples of MRG31k3p: 1.6 ns each (Zen 5, AVX-512), of which
    PIECE_NORMAL = 20000                # the method of Box and Muller takes 1.2 ns
    LONG_DRAW = 4000                    # samples of distributions
    PIECE_DRAW = 15000                  # uniform samples
