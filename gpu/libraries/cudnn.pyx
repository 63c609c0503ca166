"""Convolutions and their gradients by cuDNN, with the algorithm that was the fastest when it was first needed.

For new shapes each algorithm with a fixed order of additions is run a few times, on the operands themselves, and the
choice is kept until 64 other shapes have come. (With ``config.deterministic = "more"`` the implicit product is taken.)
Float32 is multiplied in float32, unless ``config.gpu.tf32`` asks for TF32; Fourier transforms, and Winograd's algorithm
for windows of 3, compute in float32 with larger errors: the guide has bounds.

cuDNN gets operands in C order and filters that are not flipped: others are copied to scratch memory first. All that a
call needs is in its arguments in the queue of work; descriptors are set from them just before. There is one handle,
which the queue of work calls, in its order; a lock of its own lets workspaces be asked for meanwhile.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.gpu.libraries.routine cimport REFUSED, Library, Routine, rounded_room
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.vm.abi cimport Cell, cell_is_contiguous, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

from phintys.graph.config import config

cdef extern from * nogil:
    """
    #include <limits.h>
    #include <pthread.h>
    #include <string.h>
    #include <time.h>
    #include "libraries/recent.h"
    enum { FORWARD, BY_IMAGES, BY_FILTERS, ALGORITHMS = 8 };
    typedef void* phintys_descriptor;
    /* The functions in the order of `NAMES`. */
    static struct {
        int (*create)(void**);
        int (*set_stream)(void*, void*);
        int (*new_tensor)(phintys_descriptor*);
        int (*new_filter)(phintys_descriptor*);
        int (*new_convolution)(phintys_descriptor*);
        int (*set_tensor)(phintys_descriptor, int, int, const int*, const int*);
        int (*set_filter)(phintys_descriptor, int, int, int, const int*);
        int (*set_convolution)(phintys_descriptor, int, const int*, const int*, const int*, int, int);
        int (*set_groups)(phintys_descriptor, int);
        int (*set_math)(phintys_descriptor, int);
        /* By role; of three of the operands the descriptors, with that of the convolution before the last. */
        int (*room[3])(void*, phintys_descriptor, phintys_descriptor, phintys_descriptor, phintys_descriptor, int,
                       size_t*);
        int (*compute[3])(void*, const void*, phintys_descriptor, const void*, phintys_descriptor, const void*,
                          phintys_descriptor, int, void*, size_t, const void*, phintys_descriptor, void*);
    } cudnn;
    static void** phintys_cudnn_functions(void) { return (void**)&cudnn; }
    static void* phintys_cudnn;
    static struct { phintys_descriptor image, top, filters, convolution; } described;
    static pthread_mutex_t phintys_cudnn_lock = PTHREAD_MUTEX_INITIALIZER;
    static int phintys_begin_cudnn(void) {
        phintys_cudnn = NULL;
        int error = cudnn.create(&phintys_cudnn);
        if (!error) error = cudnn.new_tensor(&described.image);
        if (!error) error = cudnn.new_tensor(&described.top);
        if (!error) error = cudnn.new_filter(&described.filters);
        return error ? error : cudnn.new_convolution(&described.convolution);
    }
    /* What a choice of an algorithm is for, and what the queue of work keeps: bytes are compared, so there are no gaps.
     */
    typedef struct {
        long role, type, math, moved, groups;       /* moved: how many dimensions filters move in */
        long measured;                              /* whether algorithms are compared */
        long image[5], filters[5], top[5], pad[3], stride[3], dilation[3];
    } phintys_shapes;
    typedef struct {
        phintys_shapes shapes;
        long algorithm, repeats;
        size_t room;
        const void *first, *second;                 /* the operands in the order of cuDNN's arguments */
        void *result, *work;
        int* error;                                 /* where the error is to be noted, instead of being returned */
    } phintys_convolving;
    static int phintys_lengths(const long* shape, int rank, int* lengths, int* strides) {
        int step = 1;
        for (int axis = rank - 1; axis >= 0; axis--) {
            lengths[axis] = (int)shape[axis], strides[axis] = step;
            step *= lengths[axis];
        }
        return rank;
    }
    static int phintys_describe(const phintys_shapes* s) {
        int lengths[5], strides[5], pad[3], stride[3], dilation[3];
        const int moved = (int)s->moved, rank = moved + 2, type = (int)s->type;
        for (int axis = 0; axis < moved; axis++)
            pad[axis] = (int)s->pad[axis], stride[axis] = (int)s->stride[axis], dilation[axis] = (int)s->dilation[axis];
        phintys_lengths(s->image, rank, lengths, strides);
        int error = cudnn.set_tensor(described.image, type, rank, lengths, strides);
        phintys_lengths(s->top, rank, lengths, strides);
        if (!error) error = cudnn.set_tensor(described.top, type, rank, lengths, strides);
        phintys_lengths(s->filters, rank, lengths, strides);
        if (!error) error = cudnn.set_filter(described.filters, type, 0, rank, lengths);    /* CUDNN_TENSOR_NCHW */
        if (!error)                                 /* CUDNN_CROSS_CORRELATION; sums of float16 are in float32 */
            error = cudnn.set_convolution(described.convolution, moved, pad, stride, dilation, 1, type == 1);
        if (!error) error = cudnn.set_groups(described.convolution, (int)s->groups);
        return error ? error : cudnn.set_math(described.convolution, (int)s->math);
    }
    static void phintys_order(long role, phintys_descriptor* ordered) {
        ordered[0] = role == BY_IMAGES ? described.filters : described.image;
        ordered[1] = role == FORWARD ? described.filters : described.top;
        ordered[2] = role == FORWARD ? described.top : role == BY_IMAGES ? described.image : described.filters;
    }
    static int phintys_do_convolving(phintys_convolving* c, void* stream) {
        const float single[] = {1, 0};
        const double full[] = {1, 0};
        const int is_full = c->shapes.type == 1;
        const void* one = is_full ? (const void*)full : single;
        const void* zero = is_full ? (const void*)(full + 1) : single + 1;
        phintys_descriptor ordered[3];
        pthread_mutex_lock(&phintys_cudnn_lock);
        phintys_order(c->shapes.role, ordered);
        int error = cudnn.set_stream(phintys_cudnn, stream);
        if (!error) error = phintys_describe(&c->shapes);
        for (long turn = 0; turn < c->repeats && !error; turn++)
            error = cudnn.compute[c->shapes.role](phintys_cudnn, one, ordered[0], c->first, ordered[1], c->second,
                                                  described.convolution, (int)c->algorithm, c->work, c->room, zero,
                                                  ordered[2], c->result);
        pthread_mutex_unlock(&phintys_cudnn_lock);
        if (c->error) return *c->error = error, 0;
        return error ? 300000 + error : 0;
    }
    /* The bytes of work memory of an algorithm; -1: it cannot compute this. */
    static long phintys_room_of_algorithm(const phintys_shapes* s, int algorithm) {
        phintys_descriptor ordered[3];
        size_t room = 0;
        pthread_mutex_lock(&phintys_cudnn_lock);
        phintys_order(s->role, ordered);
        int error = phintys_describe(s);
        if (!error)
            error = cudnn.room[s->role](phintys_cudnn, ordered[0], ordered[1], described.convolution, ordered[2],
                                        algorithm, &room);
        pthread_mutex_unlock(&phintys_cudnn_lock);
        return error || room > LONG_MAX ? -1 : (long)room;
    }
    /* Choices that were made, for the shapes that came last; there is a lock for them. */
    typedef struct {
        phintys_shapes shapes;
        long algorithm, room;                       /* the algorithm: -1: there is none */
        double seconds[ALGORITHMS];                 /* of each; 0: not measured */
    } phintys_choice;
    static struct { phintys_choice all[MOST_RECENT]; long count; } chosen;
    static pthread_mutex_t phintys_chosen_lock = PTHREAD_MUTEX_INITIALIZER;
    static int phintys_is_chosen(const phintys_shapes* s, phintys_choice* choice) {
        pthread_mutex_lock(&phintys_chosen_lock);
        const int found = phintys_find_recent(chosen.all, chosen.count, sizeof *choice, s, sizeof *s);
        if (found) *choice = chosen.all[0];
        pthread_mutex_unlock(&phintys_chosen_lock);
        return found;
    }
    static void phintys_choose(const phintys_choice* choice) {
        pthread_mutex_lock(&phintys_chosen_lock);
        phintys_add_recent(chosen.all, &chosen.count, sizeof *choice, choice);
        pthread_mutex_unlock(&phintys_chosen_lock);
    }
    static long phintys_count_choices(void) { return chosen.count; }
    static const phintys_choice* phintys_choice_number(long i) { return &chosen.all[i]; }
    static double phintys_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    """
    ctypedef struct phintys_shapes:
        long role, type, math, moved, groups, measured
        long* image
        long* filters
        long* top
        long* pad
        long* stride
        long* dilation
    ctypedef struct phintys_convolving:
        phintys_shapes shapes
        long algorithm, repeats
        size_t room
        const void* first
        const void* second
        void* result
        void* work
        int* error
    ctypedef struct phintys_choice:
        phintys_shapes shapes
        long algorithm, room
        double* seconds
    void** phintys_cudnn_functions()
    int phintys_begin_cudnn()
    int phintys_do_convolving(phintys_convolving*, void*)
    long phintys_room_of_algorithm(const phintys_shapes*, int)
    bint phintys_is_chosen(const phintys_shapes*, phintys_choice*)
    void phintys_choose(const phintys_choice*)
    long phintys_count_choices()
    const phintys_choice* phintys_choice_number(long)
    double phintys_seconds()
    enum: FORWARD, BY_IMAGES, BY_FILTERS, ALGORITHMS, INT_MAX

NAMES = ["cudnnCreate", "cudnnSetStream", "cudnnCreateTensorDescriptor", "cudnnCreateFilterDescriptor",
         "cudnnCreateConvolutionDescriptor", "cudnnSetTensorNdDescriptor", "cudnnSetFilterNdDescriptor",
         "cudnnSetConvolutionNdDescriptor", "cudnnSetConvolutionGroupCount", "cudnnSetConvolutionMathType",
         "cudnnGetConvolutionForwardWorkspaceSize", "cudnnGetConvolutionBackwardDataWorkspaceSize",
         "cudnnGetConvolutionBackwardFilterWorkspaceSize", "cudnnConvolutionForward", "cudnnConvolutionBackwardData",
         "cudnnConvolutionBackwardFilter"]
ROLES = {"forward": FORWARD, "by images": BY_IMAGES, "by filters": BY_FILTERS}
TYPES = {"float32": 0, "float64": 1, "float16": 2}
cdef Library cudnn = Library("cudnn", NAMES, ("nvrtc", "cublasLt", "cublas"))
cudnn.functions, cudnn.begin = phintys_cudnn_functions(), phintys_begin_cudnn

cdef enum:
    CANDIDATES = 6
    IN_FMA = 3                      # CUDNN_FMA_MATH; 0: CUDNN_DEFAULT_MATH, which takes TF32
    HALF_PAD = -1
    FULL_PAD = -2
    MOST_WORK = 1 << 30             # bytes
    REPEATS = 3                     # of a measurement

# By role, those with a fixed order of additions; -1: none. Implicit products, Fourier transforms, Winograd's algorithm
# in one kernel, and in several, which is exact enough only for windows of 3. The first is taken without measuring.
cdef int[3][CANDIDATES] NUMBERS = [[1, 0, 4, 5, 6, 7], [1, 2, 3, 4, 5, -1], [1, 2, 6, 5, -1, -1]]
cdef int[3] WINOGRAD = [7, 5, 5]
cdef int[3] PRODUCTS = [2, 1, 1]                # how many of them are implicit products, and exact enough for float16

cdef bint allows_tf32 = False


def allow_tf32(allowed):
    """Let convolutions of float32 from here on round their factors to TF32, or not."""
    global allows_tf32
    allows_tf32 = allowed


config.on_change("gpu.tf32", allow_tf32)
allow_tf32(config.gpu.tf32)

def choices():
    """The algorithms that were chosen for the last shapes, the most recent ones first: for each the role, the shapes of
    the images and the filters, whether in TF32, its number in cuDNN (-1: there is none), the bytes of its work memory,
    and the microseconds of those that were measured."""
    cdef const phintys_choice* choice
    cdef long number
    found = []
    for number in range(phintys_count_choices()):
        choice = phintys_choice_number(number)
        rank = choice.shapes.moved + 2
        found.append((list(ROLES)[choice.shapes.role], tuple([choice.shapes.image[axis] for axis in range(rank)]),
                      tuple([choice.shapes.filters[axis] for axis in range(rank)]),
                      choice.shapes.type == 0 and choice.shapes.math != IN_FMA, choice.algorithm, choice.room,
                      {index: round(1e6 * choice.seconds[index], 1) for index in range(ALGORITHMS)
                       if choice.seconds[index]}))
    return found


# The operands, and where those are that cuDNN gets: the same, or copies in scratch memory.
cdef struct Operands:
    Cell* image
    Cell* filters
    Cell* top
    Cell* cells[3]                  # in the order of cuDNN's arguments
    bint copied[3]
    npy_intp places[3]              # of copies in scratch memory
    npy_intp work                   # where work memory begins there


cdef class ConvolutionRoutine(Routine):
    """A convolution, or one of its gradients.

    Parameters
    ----------
    dtype : str
    role : {"forward", "by images", "by filters"}
    rank : int
        How many dimensions filters move in.
    border : {"half", "full"} or sequence of (int, int)
    stride, dilation : sequence of int
    flip : bool
        Whether filters are turned around.
    groups : int
    positions : sequence of int
        Those of the images, the filters and the output among the operands.
    """
    cdef int role, type, rank, groups
    cdef bint flip, measures
    cdef int pad[3]
    cdef int stride[3]
    cdef int dilation[3]
    cdef int positions[3]

    def __init__(self, dtype, role, int rank, border, stride, dilation, bint flip, int groups, positions):
        cdef int axis
        self.measures = config.deterministic != "more"
        self.role, self.type, self.rank, self.flip, self.groups = ROLES[role], TYPES[dtype], rank, flip, groups
        for axis in range(3):
            self.positions[axis] = positions[axis]
        for axis in range(rank):
            self.pad[axis] = {"half": HALF_PAD, "full": FULL_PAD}.get(border) if isinstance(border, str) else (
                border[axis][0])
            self.stride[axis], self.dilation[axis] = stride[axis], dilation[axis]

    cdef int ready(self) except -1 nogil:
        return cudnn.load()

    cdef void sort(self, Cell** operands, Operands* sorted) noexcept nogil:
        """The operands by name and in order; which are copied, and to where."""
        cdef npy_intp place = 0
        cdef int index
        sorted.image, sorted.filters, sorted.top = (
            operands[self.positions[0]], operands[self.positions[1]], operands[self.positions[2]])
        sorted.cells[0] = sorted.filters if self.role == BY_IMAGES else sorted.image
        sorted.cells[1] = sorted.filters if self.role == FORWARD else sorted.top
        sorted.cells[2] = (sorted.top if self.role == FORWARD else sorted.image if self.role == BY_IMAGES
                           else sorted.filters)
        for index in range(3):
            sorted.copied[index] = not cell_is_contiguous(sorted.cells[index]) or (
                sorted.cells[index] == sorted.filters and self.flip and self.has_window(sorted.filters))
            sorted.places[index] = place
            if sorted.copied[index]:
                place += rounded_room(cell_size(sorted.cells[index]) * sorted.cells[index].itemsize)
        sorted.work = place

    cdef inline bint has_window(self, const Cell* filters) noexcept nogil:
        cdef int axis
        for axis in range(2, filters.ndim):
            if filters.shape[axis] != 1:
                return True
        return False

    cdef bint describe(self, const Operands* sorted, phintys_shapes* shapes) noexcept nogil:
        """The shapes as cuDNN takes them: filters move in two dimensions at least. Whether it can take them."""
        cdef int axis, skipped = 1 if self.rank == 1 else 0
        cdef npy_intp window
        memset(shapes, 0, sizeof(phintys_shapes))
        shapes.role, shapes.type, shapes.groups, shapes.moved = self.role, self.type, self.groups, self.rank + skipped
        shapes.measured = self.measures
        shapes.math = IN_FMA if self.type == 0 and not allows_tf32 else 0
        if not (copy_lengths(shapes.image, sorted.image, skipped) and copy_lengths(
                shapes.filters, sorted.filters, skipped) and copy_lengths(shapes.top, sorted.top, skipped)):
            return False
        shapes.stride[0] = shapes.dilation[0] = 1
        for axis in range(self.rank):
            window = (sorted.filters.shape[2 + axis] - 1) * self.dilation[axis] + 1
            shapes.pad[axis + skipped] = (window // 2 if self.pad[axis] == HALF_PAD else window - 1
                                          if self.pad[axis] == FULL_PAD else self.pad[axis])
            shapes.stride[axis + skipped], shapes.dilation[axis + skipped] = self.stride[axis], self.dilation[axis]
            # Zeros are the same before and behind, for cuDNN.
            if sorted.top.shape[2 + axis] != (
                    sorted.image.shape[2 + axis] + 2 * shapes.pad[axis + skipped] - window) // self.stride[axis] + 1:
                return False
        return True

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef Operands sorted
        cdef phintys_shapes shapes
        cdef phintys_choice choice
        if not cudnn.found or driver.enter_device():
            return REFUSED
        self.sort(operands, &sorted)
        if not self.describe(&sorted, &shapes):
            return REFUSED
        if not phintys_is_chosen(&shapes, &choice):
            self.choose(&sorted, &shapes, &choice)
        return REFUSED if choice.algorithm < 0 else sorted.work + choice.room

    cdef void choose(self, const Operands* sorted, const phintys_shapes* shapes, phintys_choice* choice) noexcept nogil:
        """The fastest algorithm for these shapes. The result is written, and inputs are read, as if they were here
        already: their elements do not matter."""
        cdef phintys_convolving convolving
        cdef Buffer* memory
        cdef npy_intp room
        cdef int candidate, algorithm
        cdef double seconds, best = 1e30
        memset(choice, 0, sizeof(phintys_choice))
        choice.shapes, choice.algorithm = shapes[0], -1
        for candidate in range(CANDIDATES):
            algorithm = NUMBERS[self.role][candidate]
            if algorithm < 0 or (not shapes.measured and choice.algorithm >= 0) or (
                    self.type == 2 and candidate >= PRODUCTS[self.role]) or (
                    algorithm == WINOGRAD[self.role] and not has_windows_of_3(shapes)):
                continue
            room = phintys_room_of_algorithm(shapes, algorithm)
            memory = device_memory.acquire(sorted.work + room + 1) if 0 <= room <= MOST_WORK else NULL
            if memory == NULL:
                continue
            fill_in(&convolving, sorted, shapes, algorithm, memory.data, room)
            seconds = measured(&convolving)
            buffer_release(memory)
            choice.seconds[algorithm] = seconds if seconds > 0 else 0
            if 0 <= seconds < best:
                best, choice.algorithm, choice.room = seconds, algorithm, room
        phintys_choose(choice)

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef Operands sorted
        cdef phintys_shapes shapes
        cdef phintys_choice choice
        cdef phintys_convolving convolving
        cdef int index, error = 0
        self.sort(operands, &sorted)
        self.describe(&sorted, &shapes)
        if not phintys_is_chosen(&shapes, &choice):         # an option was changed meanwhile
            self.choose(&sorted, &shapes, &choice)
        if choice.algorithm < 0 or sorted.work + choice.room > bytes:
            return 301000                                   # CUDNN_STATUS_NOT_INITIALIZED
        fill_in(&convolving, &sorted, &shapes, choice.algorithm, scratch, choice.room)
        for index in range(2):
            if sorted.copied[index]:
                error = error or self.copy(sorted.cells[index], &sorted, scratch + sorted.places[index], True)
        error = error or driver.call_in_order(<void*>phintys_do_convolving, &convolving, sizeof(convolving))
        if sorted.copied[2]:
            error = error or self.copy(sorted.cells[2], &sorted, scratch + sorted.places[2], False)
        return error

    cdef int copy(self, Cell* cell, const Operands* sorted, char* scratch, bint there) noexcept nogil:
        """Copy an operand to scratch memory, or the result from there; filters are turned around."""
        cdef Cell inside = cell[0], outside = cell[0]
        cdef npy_intp strides[2][MAX_RANK]
        cdef npy_intp step = cell.itemsize
        cdef int axis
        for axis in range(cell.ndim - 1, -1, -1):
            strides[0][axis], strides[1][axis] = step, cell.strides[axis]
            step *= cell.shape[axis]
            if axis >= 2 and cell == sorted.filters and self.flip:
                outside.data += (cell.shape[axis] - 1) * cell.strides[axis]
                strides[1][axis] = -cell.strides[axis]
        inside.data, inside.strides, outside.strides = scratch, strides[0], strides[1]
        return copy_elements(&inside, &outside) if there else copy_elements(&outside, &inside)


cdef inline bint copy_lengths(long* lengths, const Cell* cell, int skipped) noexcept nogil:
    """Whether they are not 0, and small enough for cuDNN."""
    cdef int axis
    for axis in range(cell.ndim):
        lengths[axis + skipped if axis >= 2 else axis] = cell.shape[axis]
    if skipped:
        lengths[2] = 1
    return 0 < cell_size(cell) <= INT_MAX


cdef inline bint has_windows_of_3(const phintys_shapes* shapes) noexcept nogil:
    cdef int axis
    for axis in range(shapes.moved):
        if shapes.filters[2 + axis] != 3:
            return False
    return True


cdef void fill_in(phintys_convolving* convolving, const Operands* sorted, const phintys_shapes* shapes, long algorithm,
                  char* scratch, npy_intp room) noexcept nogil:
    memset(convolving, 0, sizeof(phintys_convolving))
    convolving.shapes, convolving.algorithm, convolving.repeats = shapes[0], algorithm, 1
    convolving.first = scratch + sorted.places[0] if sorted.copied[0] else sorted.cells[0].data
    convolving.second = scratch + sorted.places[1] if sorted.copied[1] else sorted.cells[1].data
    convolving.result = scratch + sorted.places[2] if sorted.copied[2] else sorted.cells[2].data
    convolving.work, convolving.room = scratch + sorted.work, room


cdef double measured(phintys_convolving* convolving) noexcept nogil:
    """The seconds of a few runs; -1: it failed."""
    cdef int failed = 0, turn
    cdef double start, best = 1e30
    convolving.error = &failed
    for turn in range(3):                           # kernels are loaded in the first turn
        convolving.repeats = REPEATS if turn else 1
        if driver.synchronize():
            return -1
        start = phintys_seconds()
        if driver.call_in_order(<void*>phintys_do_convolving, convolving, sizeof(phintys_convolving)) or (
                driver.synchronize() or failed):
            return -1
        if turn:
            best = min(best, (phintys_seconds() - start) / REPEATS)
    return best
