"""Fourier transforms of many or long lines by cuFFT.

A plan takes 60 to 200 ms to make, and the graphs of the queue of work use its tables, so plans are kept for the
process: ``MOST_PLANS`` of them; other shapes, and few elements, are left to the kernel of our own. Work memory is the
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
    #include <string.h>
    /* The functions in the order of `NAMES`. */
    static struct {
        int (*create)(int*);
        int (*allocate)(int, int);
        int (*make)(int, int, int*, int*, int, int, int*, int, int, int, int, size_t*);
        int (*set_stream)(int, void*);
        int (*set_work)(int, void*);
        int (*both[2])(int, void*, void*, int);  /* of float32, of float64 */
        int (*real[2])(int, void*, void*);
        int (*hermitian[2])(int, void*, void*);
    } cufft;
    enum { FORWARD, BACKWARD, REAL, HERMITIAN, MOST_PLANS = 64, REFUSED_PLAN = -1 };
    /* CUFFT_C2C, CUFFT_R2C, CUFFT_C2R; of float64 0x40 more. */
    static const int phintys_types[] = {0x29, 0x29, 0x2a, 0x2c};
    static void** phintys_cufft_functions(void) { return (void**)&cufft; }
    /* A plan, for one kind of transforms of so many lines; 0 bytes of room may be right. */
    typedef struct {
        long kind, is_double, length, lines, plan;
        size_t room;
    } phintys_plan;
    static struct { phintys_plan all[MOST_PLANS]; int count; } plans;
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
        p->plan = plan;
        return error;
    }
    /* The plan for what is asked, made if it is new; whether there is one. */
    static int phintys_find_plan(phintys_plan* asked) {
        int found = 0;
        pthread_mutex_lock(&phintys_cufft_lock);
        for (int i = 0; i < plans.count && !found; i++) {
            const phintys_plan* p = &plans.all[i];
            found = p->kind == asked->kind && p->is_double == asked->is_double && p->length == asked->length
                && p->lines == asked->lines;
            if (found) *asked = *p;
        }
        if (!found && plans.count < MOST_PLANS) {
            if (phintys_make_plan(asked)) asked->plan = REFUSED_PLAN;       /* it is not tried again */
            plans.all[plans.count++] = *asked, found = 1;
        }
        pthread_mutex_unlock(&phintys_cufft_lock);
        return found && asked->plan != REFUSED_PLAN;
    }
    /* What the queue of work keeps; its bytes are compared, so there are no gaps. */
    typedef struct {
        long kind, is_double, plan;
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
        long kind, is_double, length, lines, plan
        size_t room
    ctypedef struct phintys_transform:
        long kind, is_double, plan
        void* in_ "in"
        void* out
        void* work
    void** phintys_cufft_functions()
    int phintys_begin_cufft()
    bint phintys_find_plan(phintys_plan*)
    int phintys_do_transform(phintys_transform*, void*)
    enum: FORWARD, BACKWARD, REAL, HERMITIAN, INT_MAX

NAMES = ["cufftCreate", "cufftSetAutoAllocation", "cufftMakePlanMany", "cufftSetStream", "cufftSetWorkArea",
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
        plan.kind, plan.is_double, plan.length = self.kind, self.is_double, integer_at(operands[1], 0)
        plan.lines = cell_size(out) // out.shape[self.axis] if out.shape[self.axis] else 0
        if not cufft.found or plan.lines * plan.length < FEWEST or plan.lines > INT_MAX // plan.length:
            return False
        return driver.enter_device() == 0 and phintys_find_plan(plan)

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
