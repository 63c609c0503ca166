"""Sources of kernels whose operands any thread may read: a few lines for each family, the rest is written here.

A description (``Description``) names the operands and gives the bodies of kernels; ``source_of`` writes the CUDA. Each
operand on the device is a ``View`` by its name in a body: its address, shape and strides in bytes. ``load_x(offset)``
and ``store_x(offset, value)`` are macros that read and write elements of operand ``x``, as type ``T_x``;
``at(x, i, j)`` is the offset of an element, and ``offset_of(x, number, skipped)`` that of an element by its number in C
order of the dimensions that the mask ``skipped`` leaves. A number on the host is a ``double`` by its name, and a vector
of integers there is a struct with the array ``at``.

A kernel of THREADS runs its body for each item ``i``, in one thread. One of BLOCKS has a block of ``GROUP`` threads for
each item ``i``; ``total(value)`` adds up what its threads have. The items are the elements of the dimensions of an
operand that a mask names. The body of a kernel of RAW runs once in each of ``threads`` threads, of number ``thread``:
a launch says how many there are in a block, and how many blocks for each multiprocessor, at most.

Operands with positions that the processor's kernel checks before it computes are ``checked`` here: a body calls
``position(note, value, length, axis)``, which wraps negative ones and returns -1 after noting one that is outside.
What else a body finds wrong it notes by ``tell(note, value, length, what)``; ``failure`` says which error that is.
"""
from collections import namedtuple

from phintys.gpu.kernels.scalar_source import computed, loaded, stored, to_store, with_functions
from phintys.gpu.twins import SEVERAL_RESULTS

GROUP = 128                     # threads of a block that works on one item
THREADS, BLOCKS, COPY, CLEAR, CALL, RAW = range(6)
ALL = 2 ** 63 - 1               # a mask of all dimensions

Launch = namedtuple("Launch", "kind which operand mask target along block most step otherwise",
                    defaults=(0, 0, ALL, 0, None, 256, 0, None, None))
Launch.__doc__ = """One step of a kernel's run.

THREADS, BLOCKS: kernel ``which`` (of RAW: by THREADS) for the items of ``operand`` and ``mask``; COPY: ``operand`` into
``target``, unless they are the same memory; CLEAR: fill ``operand`` with zeros; CALL: step ``which`` of the
description's routine. ``along`` names an operand on the host with a dimension, which may be negative, that the mask
then leaves out. ``block`` is how many threads of THREADS a block has, and ``most`` how many blocks there are for each
multiprocessor; 0: one thread for each item. A launch with a ``step`` is done if the routine wants this step. If there
are no items, a block runs kernel ``otherwise``, if there is one: positions are checked also where nothing is read.
"""
Description = namedtuple("Description", "names bodies launches functions vectors checked scratch refuses failure "
                         "routine by_routine trusted",
                         defaults=("", {}, (), None, False, None, None, (), False))
Description.__doc__ = """What a family says of a kernel.

Attributes
----------
names : sequence of (str or None)
    Of the operands, inputs first; None: it is not passed.
bodies : dict
    Name of a kernel → (THREADS, BLOCKS or RAW, body).
launches : sequence of Launch
    In order; ``operand`` is a name here.
functions : str
    Text before the kernels.
vectors : dict
    Name of a vector of integers on the host → how many it has.
checked : sequence of str
    Operands with positions.
trusted : bool
    These are within bounds: nothing checks them.
scratch : (str, int) or None
    An operand, and how many bytes of the memory ``scratch`` there are for each of its elements.
refuses : bool
    Whether bodies may set ``*note`` to the complement of ``item << 32 | reason``, by atomicMax: the processor's kernel,
    a ``StackKernel``, then raises its error for this reason.
failure : (type of exception, sequence of str) or None
    What is raised for a note of ``tell``: the text number ``what``, with ``{value}`` and ``{length}``. None: an
    IndexError.
routine : Routine or None
    What a library of NVIDIA's does (see ``gpu/libraries``); bodies then have a pointer ``scratch`` in any case.
by_routine : sequence of Launch
    What is done instead of ``launches`` for operands that the routine does not refuse.
"""

Described = namedtuple("Described", "host_class function by_value checked")
DESCRIBERS = {}                 # name of a class of kernels of the processor → Described

PRELUDE = """\
template <int R> struct View { char* data; long long shape[R], strides[R]; };
template <int N> struct Numbers { long long at[N]; };
// Of numbers that are not negative; a division of 32 bits takes a quarter of the time.
__device__ inline long long quotient_of(long long number, long long length) {
    return (number | length) >> 31 ? number / length : (long long)((unsigned)number / (unsigned)length);
}
template <int R> __device__ inline long long offset_of(const View<R>& v, long long number,
                                                       unsigned long long skipped = 0) {
    long long offset = 0;
    for (int axis = R - 1; axis >= 0; axis--) {
        if (skipped >> axis & 1) continue;
        const long long above = quotient_of(number, v.shape[axis]);
        offset += (number - above * v.shape[axis]) * v.strides[axis];
        number = above;
    }
    return offset;
}
template <int R, class... I> __device__ inline long long at(const View<R>& v, I... indices) {
    const long long all[] = {(long long)indices...};
    long long offset = 0;
    for (int axis = 0; axis < (int)sizeof...(I); axis++) offset += all[axis] * v.strides[axis];
    return offset;
}
static __device__ inline double total(double value) {
    __shared__ double found[GROUP];
    __syncthreads();
    found[threadIdx.x] = value;
    for (int half = GROUP / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] += found[threadIdx.x + half];
    }
    __syncthreads();
    return found[0];
}
// A note has four words, and the address of a flag in memory of the host, which the call looks at when it has waited.
__device__ inline void raise_flag(unsigned long long* note) { *(volatile unsigned long long*)note[4] = 1; }
// Note what is wrong, unless something is noted already.
__device__ inline void tell(unsigned long long* note, long long value, long long length, int what) {
    if (atomicCAS(note, 0ULL, 1ULL)) return;
    note[1] = (unsigned long long)value, note[2] = (unsigned long long)length, note[3] = what;
    raise_flag(note);
}
__device__ inline long long position(unsigned long long* note, long long value, long long length, int axis) {
    const long long place = value < 0 ? value + length : value;
    if (place >= 0 && place < length) return place;
    tell(note, value, length, axis);
    return -1;
}
"""


def describe(host_class, by_value=(), checked=(), several_results=False):
    """A decorator: the function that describes the twins of a class, from the kernel's arguments and its operands.

    Parameters
    ----------
    host_class : type
    by_value, checked : collection of int, or callable
        As ``by_value`` and ``checked_at_device`` of `twins.register`.
    several_results : bool
        Several results are correct, such as the signs of vectors, so DebugMode does not compare the places.
    """
    def added(function):
        DESCRIBERS[host_class.__name__] = Described(host_class, function, by_value, checked)
        if several_results:
            SEVERAL_RESULTS.add(host_class)
        return function
    return added


def source_of(description, operands):
    """The source of a description.

    Parameters
    ----------
    description : Description
    operands : sequence of (dtype, rank, at_host)
        Inputs, then results.

    Returns
    -------
    str

    Raises
    ------
    NoSource
        For dtypes without text.
    """
    macros, parameters = [], ["long long items"]
    for name, (dtype, rank, at_host) in zip(description.names, operands, strict=True):
        if name is None:
            continue
        if name in description.vectors:
            parameters.append(f"Numbers<{description.vectors[name]}> {name}")
        elif at_host:
            parameters.append(f"double {name}")
        else:
            parameters.append(f"View<{max(1, rank)}> {name}")
            element = f"*(const {stored(dtype)}*)({name}.data + (o))"
            macros += [f"typedef {computed(dtype)} T_{name};", f"typedef {stored(dtype)} S_{name};",
                       f"#define load_{name}(o) ((T_{name})({loaded(dtype, element)}))",
                       f"#define store_{name}(o, v) (*(S_{name}*)({name}.data + (o)) = "
                       f"(S_{name})({to_store(dtype, '(v)')}))"]
    if description.scratch:
        parameters.append("char* scratch")
    if tells(description):
        parameters.append("unsigned long long* note")
    texts = [kernel_text(name, kind, ", ".join(parameters), body) for name, (kind, body) in description.bodies.items()]
    return with_functions("\n".join([f"enum {{ GROUP = {GROUP} }};", PRELUDE, *macros, description.functions,
                                     'extern "C" {', *texts, "}", ""]))


def tells(description):
    """Whether kernels may note what is wrong."""
    return (description.failure is not None or description.refuses
            or bool(description.checked and not description.trusted))


def kernel_text(name, kind, parameters, body):
    """One kernel."""
    if kind == BLOCKS:
        lines = ("const long long i = blockIdx.x + blockIdx.y * (long long)gridDim.x;\n"
                 f"if (i >= items) return;                         // the whole block\n{body}")
    elif kind == RAW:
        lines = ("const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
                 f"const long long threads = gridDim.x * (long long)blockDim.x;\n{body}")
    else:
        lines = ("for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < items;\n"
                 f"     i += gridDim.x * (long long)blockDim.x) {{\n{body}\n}}")
    return f"__global__ void {name}({parameters}) {{\n{lines}\n}}"


def number(name, operand):
    """The value of an operand of one element, wherever it is, in C."""
    if operand[2]:
        return name
    return f"load_{name}(0)" if operand[0].startswith("complex") else f"(double)load_{name}(0)"
