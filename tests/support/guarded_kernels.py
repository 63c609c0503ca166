"""Kernels whose operands and scratch memory lie beside pages that cannot be touched (`config.guards`).

All kernels of the table ``kernel_cases``, then poolings, products and draws of random shapes. They must compute what
they compute elsewhere; one that reads or writes outside of its memory ends the process, after its title was printed.
Kernels also get operands of lengths that do not match and numbers that are not finite: these may raise.

    python -I tests/support/guarded_kernels.py SEED COUNT GUARDS WORKERS
"""
import sys
from pathlib import Path

import numpy

sys.path.append(str(Path(__file__).parent))
from guarded_arrays import guarded
from kernel_cases import CASES, made

import phintys
import phintys.tensor as T
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.tensor.signal.pool import pool_2d, pool_3d
from phintys.vm.abi import run_kernel


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        if a.dtype.kind in "fc":
            scale = float(numpy.abs(b[numpy.isfinite(b)]).max(initial=1))
            eps = 1e-2 if a.dtype.itemsize == 2 else 1e-4 if a.dtype in ("float32", "complex64") else 1e-10
            numpy.testing.assert_allclose(a, b, atol=eps * scale)
        else:
            assert (a == b).all()


def check_kernel(kernel, inputs, layouts, where, workers):
    phintys.config.guards = "none"
    expected = run_kernel(kernel, inputs, layouts, workers)
    phintys.config.guards = where
    same(run_kernel(kernel, [guarded(array, where) for array in inputs], layouts, workers), expected)


def with_other_length(array, rng):
    """The array with another length in one dimension: its elements again and again."""
    axis = int(rng.integers(array.ndim))
    length = array.shape[axis]
    other = int(rng.choice([0, 1, max(length - 1, 0), length + 1, 2 * length + 70]))
    if length == 0:
        return numpy.zeros([*array.shape[:axis], other, *array.shape[axis + 1:]], array.dtype)
    return numpy.ascontiguousarray(array.take(numpy.arange(other) % length, axis))


def with_other_numbers(array, rng):
    """The array with an element, or all, that is 0, not finite, or large."""
    array = array.copy()
    if array.size:
        array.reshape(-1)[slice(None) if rng.random() < 0.3 else int(rng.integers(array.size))] = rng.choice(
            [numpy.nan, numpy.inf, -numpy.inf, 0, 1e4])
    return array


def check_other_operands(kernel, inputs, layouts, where, workers, rng):
    """Operands of which one or two have other lengths or numbers; what they are is printed."""
    values = [numpy.asarray(array) for array in inputs]
    for at in rng.integers(len(values), size=int(rng.integers(1, 3))) if values else ():
        if values[at].ndim and (values[at].dtype.kind not in "fc" or rng.random() < 0.5):
            values[at] = with_other_length(values[at], rng)
        elif values[at].dtype.kind in "fc":
            values[at] = with_other_numbers(values[at], rng)
    print([array.shape for array in values], [array for array in values if array.size < 9], flush=True)
    try:
        run_kernel(kernel, [guarded(array, where) for array in values], layouts, workers)
    except Exception:
        pass


def check_cases(where, workers, rng, times):
    """Each kernel of the table, except those whose memory nothing writes; factorizations of NaN, too."""
    for position, (name, *_) in enumerate(CASES):
        kernel, inputs, layouts, _ = made(position)
        if name == "AllocEmptyKernel":
            continue
        print(name, position, flush=True)
        check_kernel(kernel, inputs, layouts, where, workers)
        if ".factorizations." in type(kernel).__module__:
            nan = [numpy.full_like(array, numpy.nan) if array.dtype.kind in "fc" else array for array in inputs]
            try:
                check_kernel(kernel, nan, layouts, where, workers)
            except (ValueError, numpy.linalg.LinAlgError):          # which is its answer
                pass
        for _ in range(times):
            check_other_operands(kernel, inputs, layouts, where, workers, rng)


def check_function(title, where, make, arguments):
    """A function of arrays, in its first two calls, which bind nothing."""
    print(title, [(a.shape, a.strides, a.dtype.str) for a in arguments], flush=True)
    phintys.config.guards = "none"
    expected = make()(*arguments)
    phintys.config.guards = where
    f = make()
    same(f(*[guarded(a, where) if a.flags.c_contiguous else a for a in arguments]), expected)
    del f


def pooling(rng):
    rank = int(rng.choice([2, 2, 3]))
    dtype = str(rng.choice(["float32", "float64", "float16", "int8", "uint16"]))
    image = [int(rng.integers(1, 40 if rank == 2 else 9)) for _ in range(rank)]
    window = [int(rng.integers(1, min(6, n) + 1)) for n in image]
    if rng.random() < 0.4:
        window = [min(int(rng.choice([2, 3])), n) for n in image]
    step = [int(rng.integers(1, w + 2)) for w in window] if rng.random() < 0.6 else None
    mode = str(rng.choice(["max", "sum", "average_inc_pad", "average_exc_pad"]))
    ignore = bool(rng.random() < 0.7)
    pads = ignore and mode != "average_exc_pad" and rng.random() < 0.4
    pad = [int(rng.integers(w)) for w in window] if pads else None
    shape = (int(rng.integers(1, 9)), int(rng.integers(1, 20)), *image)
    x = rng.integers(-9, 10, shape).astype(dtype) if dtype[0] in "iu" else rng.standard_normal(shape).astype(dtype)

    def make():
        v = T.TensorType(dtype, (False,) * len(shape))("v")
        out = (pool_2d if rank == 2 else pool_3d)(v, tuple(window), ignore_border=ignore, stride=step and tuple(step),
                                                  pad=pad and tuple(pad), mode=mode)
        by_v = [T.grad((out * out).sum(), v)] if dtype in ("float32", "float64") else []
        return phintys.function([v], [out, *by_v])
    return f"pooling {window} {step} {pad} {mode} {ignore}", make, [x]


def product(rng):
    dtype = str(rng.choice(["float32", "float64", "complex64", "complex128", "int32"]))
    m, k, n = (int(rng.choice([1, 2, 7, 16, 33, 100, 300])) for _ in range(3))
    stack = int(rng.choice([0, 0, 1, 5, 60]))

    def operand(rows, columns):
        shape = (stack,) * (stack > 0) + (rows, columns)
        layout = rng.integers(4)
        wide = rng.integers(-4, 5, (*shape[:-2], 2 * rows, 2 * columns)).astype(dtype)
        part = wide[..., :rows, :columns] if layout == 0 else wide[..., ::2, ::-2]
        return numpy.ascontiguousarray(part) if layout > 1 else part

    a, b = operand(m, k), operand(k, n)
    if not stack and rng.random() < 0.3:
        b = b[:, 0]
    if stack and m * k * n > 40000:
        a, b = a[..., :7, :7], b[..., :7, :7]

    def make():
        x, y = (T.TensorType(dtype, (False,) * v.ndim)(name) for v, name in ((a, "x"), (b, "y")))
        return phintys.function([x, y], [(T.batched_dot if stack else T.dot)(x, y)])
    return "product", make, [a, b]


def draws(rng):
    seed, size = int(rng.integers(1000)), (int(rng.choice([1, 3, 50, 3000])), int(rng.choice([1, 7, 40])))
    outcomes = int(rng.integers(1, 40))
    p = numpy.full((size[0], outcomes), 1 / outcomes)

    def make():
        stream, q = RandomStreams(seed), T.dmatrix("q")
        outputs = [stream.normal(size), T.exp(stream.normal(size)) * 2, stream.uniform(size),
                   stream.binomial(size, 5, 0.3), stream.permutation((size[0],), outcomes),
                   stream.multinomial(pvals=q, n=3, size=(size[0],)),
                   stream.choice((outcomes,), outcomes, replace=False)]
        return phintys.function([q], outputs)
    return f"draws {seed} {size}", make, [p]


def main(seed, count, where, workers):
    rng = numpy.random.default_rng(int(seed))
    check_cases(where, int(workers), rng, int(count) // 5)
    with phintys.config.change_flags(workers=int(workers)):
        for _ in range(int(count)):
            for make_case in (pooling, pooling, product, draws):
                title, make, arguments = make_case(rng)
                check_function(title, where, make, arguments)
    phintys.config.guards = "none"
    print("well")


if __name__ == "__main__":
    main(*sys.argv[1:])
