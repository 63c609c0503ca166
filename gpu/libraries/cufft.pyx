"""Fourier transforms of many or long lines by cuFFT.

A plan takes 60 to 200 ms to make, so the last 64 are kept; few elements are left to the kernel of our own. Graphs of
the queue of work use a plan's tables: each plan has a number of its own in the arguments of its calls, so a graph with
the tables of one that was given up is not replayed, and it is given up when all work is done. Work memory is the
kernel's scratch memory. cuFFT gets lines without gaps: kernels of the family copy others to scratch memory and from
there, which they do also with lines that are cut or padded. They multiply by the factor, unless it is 1, meanwhile.
"""
from libc.string cimport memset
from numpy cimport npy_intp

cimport numpy as cnp

from phintys.gpu.libraries.routine cimport REFUSED, Library, Routine, rounded_room
from phintys.gpu.runtime cimport driver
from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport CELL_DEVICE, Cell, cell_is_contiguous, cell_size

cdef extern from * nogil:
    """
    #include <limits.h>
    #include <pthread.h>
    #include "libraries/recent.h"
    /* The functions in the order of `NAMES`. */
    static struct {
        int (*create)(int*);
        int (*destroy)(int);
        int (*allocate)(int, int);
        int (*make)(int, int, int*, int*, int, int, int*, int, int, int, int, size_t*);
        int (*set_stream)(int, void*);
        int (*set_work)(int, void*);
        int (*both[2])(int, void*, void*, int);  /* of float32, of float64 */
        int (*real[2])(int, void*, void*);
        int (*hermitian[2])(int, void*, void*);
    } cufft;
    enum { FORWARD, BACKWARD, REAL, HERMITIAN, REFUSED_PLAN = -1 };
    enum { NO_PLAN, HAS_PLAN, NO_PLACE };
    /* CUFFT_C2C, CUFFT_R2C, CUFFT_C2R; of float64 0x40 more. */
    static const int phintys_types[] = {0x29, 0x29, 0x2a, 0x2c};
    static void** phintys_cufft_functions(void) { return (void**)&cufft; }
    /* A plan, for one kind of transforms of so many lines; its number among all that were made. 0 bytes of room may be
     * right. */
    typedef struct {
        long kind, is_double, length, lines, plan, number;
        size_t room;
    } phintys_plan;
    static struct { phintys_plan all[MOST_RECENT]; long count, made; } plans;
    static pthread_mutex_t phintys_cufft_lock = PTHREAD_MUTEX_INITIALIZER;
    static int phintys_begin_cufft(void) { plans.count = 0; return 0; }
    static int phintys_make_plan(phintys_plan* p) {
        int plan = 0, length = (int)p->length;
        const int half = length / 2 + 1, type = phintys_types[p->kind] + (p->is_double ? 0x40 : 0);
        const int in = p->kind == HERMITIAN ? half : length, out = p->kind == REAL ? half : length;
        int error = cufft.create(&plan);
        if (!error) error = cufft.allocate(plan, 0);
        if (!error)
            error = cufft.make(plan, 1, &length, NULL, 1, in, NULL, 1, out, type, (int)p->lines, &p->room);
        p->plan = plan, p->number = ++plans.made;
        return error;
    }
    /* The plan for what is asked, made if it is new. If there is no place, the least recently used one is given up, if
     * all work is done. */
    static int phintys_find_plan(phintys_plan* asked, int is_idle) {
        int found = HAS_PLAN;
        pthread_mutex_lock(&phintys_cufft_lock);
        if (phintys_find_recent(plans.all, plans.count, sizeof *asked, asked, 4 * sizeof(long))) {
            *asked = plans.all[0];
        } else if (plans.count == MOST_RECENT && !is_idle) {
            found = NO_PLACE;
        } else {
            const phintys_plan* last = &plans.all[MOST_RECENT - 1];
            if (plans.count == MOST_RECENT && last->plan != REFUSED_PLAN) cufft.destroy((int)last->plan);
            if (phintys_make_plan(asked)) asked->plan = REFUSED_PLAN;       /* it is not tried again */
            phintys_add_recent(plans.all, &plans.count, sizeof *asked, asked);
        }
        pthread_mutex_unlock(&phintys_cufft_lock);
        return found == HAS_PLAN && asked->plan == REFUSED_PLAN ? NO_PLAN : found;
    }
    /* What the queue of work keeps; its bytes are compared, so there are no gaps. */
    typedef struct {
        long kind, is_double, plan, number;
        void *in, *out, *work;
    } phintys_transform;
    static int phintys_do_transform(phintys_transform* t, void* stream) {
        const int plan = (int)t->plan, d = (int)t->is_double;
        pthread_mutex_lock(&phintys_cufft_lock);
        int error = cufft.set_stream(plan, stream);
        if (!error) error = cufft.set_work(plan, t->work);
        if (!error && t->kind <= BACKWARD) error = cufft.both[d](plan, t->in, t->out, t->kind == FORWARD ? -1 : 1);
        else if (!error) error = (t->kind == REAL ? cufft.real : cufft.hermitian)[d](plan, t->in, t->out);
        pthread_mutex_unlock(&phintys_cufft_lock);
        return error ? 400000 + error : 0;
    }
    """
    ctypedef struct phintys_plan:
        long kind, is_double, length, lines, plan, number
        size_t room
    ctypedef struct phintys_transform:
        long kind, is_double, plan, number
        void* in_ "in"
        void* out
        void* work
    void** phintys_cufft_functions()
    int phintys_begin_cufft()
    int phintys_find_plan(phintys_plan*, bint)
    int phintys_do_transform(phintys_transform*, void*)
    enum: FORWARD, BACKWARD, REAL, HERMITIAN, INT_MAX, HAS_PLAN, NO_PLACE

NAMES = ["cufftCreate", "cufftDestroy", "cufftSetAutoAllocation", "cufftMakePlanMany", "cufftSetStream",
         "cufftSetWorkArea",
         "cufftExecC2C", "cufftExecZ2Z", "cufftExecR2C", "cufftExecD2Z", "cufftExecC2R", "cufftExecZ2D"]
KINDS = {"forward": FORWARD, "backward": BACKWARD, "real": REAL, "hermitian": HERMITIAN}
cdef Library cufft = Library("cufft", NAMES)
cufft.functions, cufft.begin = phintys_cufft_functions(), phintys_begin_cufft

cdef enum:
    FEWEST = 1 << 14                # elements: fewer are not worth a plan

cdef enum Step:                     # as in kernels/described/fourier.py
    TAKE, TRANSFORM, GIVE, SCALE

STEPS = {"take": TAKE, "transform": TRANSFORM, "give": GIVE, "scale": SCALE}


cdef class TransformRoutine(Routine):
    """``(x, length, factor, out)``. In scratch memory are lines to be transformed, then transformed ones, then work
    memory; both are there even if cuFFT reads or writes lines elsewhere."""
    cdef int kind, axis
    cdef bint is_double, is_complex

    def __init__(self, kind, dtype, int axis):
        self.kind, self.axis = KINDS[kind], axis
        self.is_double, self.is_complex = dtype in ("float64", "complex128"), dtype.startswith("complex")

    cdef int ready(self) except -1 nogil:
        return cufft.load()

    cdef inline npy_intp length_of_line(self, npy_intp length, bint is_half) noexcept nogil:
        return length // 2 + 1 if is_half else length

    cdef inline npy_intp bytes_of_lines(self, npy_intp lines, npy_intp length, int side) noexcept nogil:
        """Of lines to be transformed (0), or transformed ones (1)."""
        cdef bint is_real = self.kind == (HERMITIAN if side else REAL)
        return rounded_room(lines * self.length_of_line(length, self.kind == (REAL if side else HERMITIAN)) * (
            (8 if self.is_double else 4) << (not is_real)))

    cdef bint has_plan(self, Cell** operands, phintys_plan* plan) noexcept nogil:
        cdef Cell* out = operands[3]
        cdef int found
        plan.kind, plan.is_double, plan.length = self.kind, self.is_double, integer_at(operands[1], 0)
        plan.lines = cell_size(out) // out.shape[self.axis] if out.shape[self.axis] else 0
        if not cufft.found or plan.lines * plan.length < FEWEST or plan.lines > INT_MAX // plan.length:
            return False
        if driver.enter_device():
            return False
        found = phintys_find_plan(plan, False)
        if found == NO_PLACE:
            found = phintys_find_plan(plan, driver.synchronize() == 0)
        return found == HAS_PLAN

    cdef inline bint reads_lines(self, Cell** operands) noexcept nogil:
        """Whether cuFFT can read the operand where it is: at an address for complex numbers, also if they are real. It
        may overwrite half of a spectrum."""
        return (cell_is_contiguous(operands[0]) and <size_t>operands[0].data % (16 if self.is_double else 8) == 0
                and self.axis == operands[0].ndim - 1 and self.kind != HERMITIAN
                and self.is_complex == (self.kind != REAL)
                and operands[0].shape[self.axis] == integer_at(operands[1], 0))

    cdef inline bint writes_lines(self, Cell** operands) noexcept nogil:
        return cell_is_contiguous(operands[3]) and self.axis == operands[3].ndim - 1

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef phintys_plan plan
        if not self.has_plan(operands, &plan):
            return REFUSED
        return self.bytes_of_lines(plan.lines, plan.length, 0) + self.bytes_of_lines(
            plan.lines, plan.length, 1) + plan.room

    cdef bint wants(self, int step, Cell** operands) noexcept nogil:
        cdef bint scales = not is_one(operands[2]), gives = not self.writes_lines(operands)
        cdef bint takes = not self.reads_lines(operands) or (gives and scales)
        if step == SCALE:
            return scales and not takes
        return takes if step == TAKE else gives

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef phintys_plan plan
        cdef phintys_transform transform
        cdef char* transformed
        if not self.has_plan(operands, &plan):
            return 400001                           # CUFFT_INVALID_PLAN
        memset(&transform, 0, sizeof(transform))
        transformed = scratch + self.bytes_of_lines(plan.lines, plan.length, 0)
        transform.kind, transform.is_double, transform.plan = plan.kind, plan.is_double, plan.plan
        transform.number = plan.number
        transform.in_ = scratch if self.wants(TAKE, operands) else operands[0].data
        transform.out = operands[3].data if self.writes_lines(operands) else transformed
        transform.work = transformed + self.bytes_of_lines(plan.lines, plan.length, 1)
        return driver.call_in_order(<void*>phintys_do_transform, &transform, sizeof(transform))


cdef inline bint is_one(const Cell* factor) noexcept nogil:
    """Whether a factor is known to be 1: it is on the host."""
    if factor.flags & CELL_DEVICE:
        return False
    if factor.typenum == cnp.NPY_FLOAT64:
        return (<const double*>factor.data)[0] == 1
    return factor.typenum == cnp.NPY_FLOAT32 and (<const float*>factor.data)[0] == 1
