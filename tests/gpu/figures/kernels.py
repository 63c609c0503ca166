"""Single kernels, beside PyTorch, and beside the prototype that was measured on an H200.

A rate counts the fewest bytes that must move (each input read once, each output written once), or the operations.
"""
from collections import namedtuple
from time import perf_counter

import numpy

# name; arrays; the expression; the same in PyTorch; bytes that move or operations; microseconds of the prototype
# on an H200
Row = namedtuple("Row", "name arrays mine theirs moved operations prototype", defaults=(None, 0, 0, None))
BLOCK = numpy.random.RandomState(0).random_sample(1 << 20).astype("float32") * 2 - 1


def floats(*shape, dtype="float32"):
    """Numbers from -1 to 1 that repeat after 2**20: large arrays of new random numbers take the host seconds."""
    return numpy.resize(BLOCK, shape).astype(dtype, copy=False)


def integers(high, *shape, dtype="int64"):
    return numpy.random.RandomState(0).randint(0, high, shape).astype(dtype)


def definite(length, dtype="float32"):
    a = floats(length, length, dtype=dtype)
    return a @ a.T / length + numpy.eye(length, dtype=dtype)


def products_of(images, filters):
    return 2 * images[0] * images[2] * images[3] * filters[0] * filters[1] * filters[2] * filters[3]


def rows(small, phintys, T, torch):
    """The table, with small shapes for a trial."""
    def n(big, little):
        return little if small else big

    def normalized(x):
        return (x - x.mean(1, keepdims=True)) / T.sqrt(x.var(1, keepdims=True) + numpy.float32(1e-5))

    def gradients(function):
        """PyTorch's gradients of a scalar with respect to the arrays of floats."""
        def made(*arrays):
            arrays = [array.detach().requires_grad_() if array.is_floating_point() else array for array in arrays]
            return torch.autograd.grad(function(*arrays), [array for array in arrays if array.is_floating_point()])
        return made

    from phintys.ops.fourier.functions import rfft
    from phintys.sandbox.rng_mrg import MRG_RandomStreams
    F = torch.nn.functional if torch else None
    half, nn = numpy.float32(0.5), T.nnet
    big, million, side = n(10 ** 8, 1000), n(10 ** 6, 90), n(10 ** 4, 30)
    images, filters = n((32, 64, 56, 56), (2, 3, 6, 6)), n((64, 64, 3, 3), (4, 3, 3, 3))
    deep, deep_filters = n((32, 256, 14, 14), (2, 3, 6, 6)), n((256, 256, 3, 3), (4, 3, 3, 3))
    batch, width, words = n(8192, 5), n(1024, 6), n((1024, 50257), (3, 90))
    pixels, draws, hundred = int(numpy.prod(images)), n(10 ** 7, 50), n(100, 5)
    lengths = n((64, 128, 512, 2048), (6,))

    def uniform(dtype):
        def drawn():
            with phintys.change_flags(device="cuda"):       # where the states of the streams are made
                return MRG_RandomStreams(1).uniform((draws,), dtype=dtype)
        return drawn

    table = [
        Row("add", lambda: [floats(big)] * 2, lambda x, y: x + y, lambda x, y: x + y, 12 * big, 0, 275),
        Row("add of float64", lambda: [floats(big // 10, dtype="float64")] * 2, lambda x, y: x + y, lambda x, y: x + y,
            24 * (big // 10)),
        Row("add of float16", lambda: [floats(big, dtype="float16")] * 2, lambda x, y: x + y, lambda x, y: x + y,
            6 * big, 0, 138),
        Row("add of int8", lambda: [integers(50, big, dtype="int8")] * 2, lambda x, y: x + y, lambda x, y: x + y,
            3 * big, 0, 70),
        Row("add of 1e6", lambda: [floats(million)] * 2, lambda x, y: x + y, lambda x, y: x + y, 12 * million, 0, 3.6),
        Row("tanh", lambda: [floats(big)], lambda x: T.tanh(x * half) + 1,
            lambda x: torch.tanh(x * 0.5) + 1, 8 * big, 0,
            188),
        Row("add a row", lambda: [floats(side, side), floats(side)], lambda x, b: x + b, lambda x, b: x + b,
            8 * side ** 2, 0, 188),
        Row("add a column", lambda: [floats(side, side), floats(side)], lambda x, b: x + b[:, None],
            lambda x, b: x + b[:, None], 8 * side ** 2, 0, 190),
        Row("add a channel", lambda: [floats(*images), floats(images[1])],
            lambda x, b: x + b.dimshuffle("x", 0, "x", "x"),
            lambda x, b: x + b[None, :, None, None], 8 * pixels, 0, 12.7),
        Row("add transposed", lambda: [floats(side, side)] * 2, lambda x, y: x + y.T, lambda x, y: x + y.T,
            12 * side ** 2, 0, 288),
        Row("negative, in rows, of transposed", lambda: [floats(side, side)],
            lambda x: T.join(0, -x.T[:side // 2], -x.T[side // 2:]), lambda x: torch.neg(x.T).contiguous(),
            8 * side ** 2),
        Row("permute four axes", lambda: [floats(*[hundred] * 4)] * 2, lambda x, y: x.dimshuffle(2, 1, 0, 3) + y,
            lambda x, y: x.permute(2, 1, 0, 3) + y, 12 * hundred ** 4, 0, 276),
        Row("sum of all", lambda: [floats(big)], lambda x: x.sum(), lambda x: x.sum(), 4 * big, 0, 92),
        Row("mean of squares", lambda: [floats(big)], lambda x: (x ** 2).mean(),
            lambda x: (x ** 2).mean(), 4 * big, 0, 92),
        Row("sum over rows", lambda: [floats(side, side)], lambda x: x.sum(0),
            lambda x: x.sum(0), 4 * side ** 2, 0, 95),
        Row("sum along rows", lambda: [floats(side, side)], lambda x: x.sum(1),
            lambda x: x.sum(1), 4 * side ** 2, 0, 90),
        Row("sum over long columns", lambda: [floats(million, 64)], lambda x: x.sum(0), lambda x: x.sum(0),
            256 * million, 0, 65),
        Row("sum along rows of 64", lambda: [floats(million, 64)], lambda x: x.sum(1), lambda x: x.sum(1),
            256 * million, 0, 63),
        Row("sum along rows of 10", lambda: [floats(million, 10)], lambda x: x.sum(1), lambda x: x.sum(1),
            44 * million, 0, 8.7),
        Row("sum of channels", lambda: [floats(*images)], lambda x: x.sum((0, 2, 3)), lambda x: x.sum((0, 2, 3)),
            4 * pixels, 0, 6.6),
        Row("max along rows", lambda: [floats(side, side)], lambda x: x.max(1),
            lambda x: x.amax(1), 4 * side ** 2, 0, 99),
        Row("argmax along rows", lambda: [floats(side, side)], lambda x: x.argmax(1), lambda x: x.argmax(1),
            4 * side ** 2, 0, 99),
        Row("argmax of all", lambda: [floats(million)], lambda x: x.argmax(),
            lambda x: x.argmax(), 4 * million, 0, 4.6),
        Row("softmax 8192 x 1024", lambda: [floats(batch, width)], nn.softmax, lambda x: torch.softmax(x, 1),
            8 * batch * width, 0, 17),
        Row("softmax 1e6 x 10", lambda: [floats(million, 10)], nn.softmax,
            lambda x: torch.softmax(x, 1), 80 * million, 0,
            21),
        Row("softmax 1024 x 50257", lambda: [floats(*words)], nn.softmax, lambda x: torch.softmax(x, 1),
            8 * words[0] * words[1], 0, 151),
        Row("cross-entropy's gradient", lambda: [floats(batch, width), integers(5, batch)],
            lambda x, y: T.grad(nn.categorical_crossentropy(nn.softmax(x), y).mean(), x),
            gradients(lambda x, y: F.cross_entropy(x, y)), 8 * batch * width),
        Row("layer normalization", lambda: [floats(batch, width)], normalized, lambda x: F.layer_norm(x, x.shape[1:]),
            8 * batch * width, 0, 18),
        Row("batch normalization", lambda: [floats(*images), floats(images[1]), floats(images[1])],
            lambda x, g, b: nn.batch_normalization_train(
                x, g.dimshuffle("x", 0, "x", "x"), b.dimshuffle("x", 0, "x", "x"), "spatial")[0],
            lambda x, g, b: F.batch_norm(x, None, None, g, b, True, eps=1e-4), 8 * pixels, 0, 20),
        Row("max pooling", lambda: [floats(*images)],
            lambda x: T.signal.pool.pool_2d(x, (2, 2), ignore_border=True), lambda x: F.max_pool2d(x, 2), 5 * pixels),
        Row("convolution 64", lambda: [floats(*images), floats(*filters)],
            lambda x, w: nn.conv2d(x, w, border_mode="half", filter_flip=False),
            lambda x, w: F.conv2d(x, w, padding=1), 0, products_of(images, filters), 122),
        Row("convolution 256", lambda: [floats(*deep), floats(*deep_filters)],
            lambda x, w: nn.conv2d(x, w, border_mode="half", filter_flip=False),
            lambda x, w: F.conv2d(x, w, padding=1), 0, products_of(deep, deep_filters)),
        Row("convolution's gradients", lambda: [floats(*images), floats(*filters)],
            lambda x, w: T.grad((nn.conv2d(x, w, border_mode="half", filter_flip=False) ** 2).sum(), [x, w]),
            gradients(lambda x, w: (F.conv2d(x, w, padding=1) ** 2).sum()), 0, 3 * products_of(images, filters)),
        Row("matrix by vector", lambda: [floats(side, side), floats(side)], T.dot, lambda x, y: x @ y, 4 * side ** 2, 0,
            91),
        Row("transposed by vector", lambda: [floats(side, side), floats(side)], lambda x, y: T.dot(x.T, y),
            lambda x, y: x.T @ y, 4 * side ** 2, 0, 96),
        Row("product of float16", lambda: [floats(n(4096, 8), n(4096, 8), dtype="float16")] * 2, T.dot,
            lambda x, y: x @ y, 0, 2 * n(4096, 8) ** 3),
        Row("batched products", lambda: [floats(n(512, 2), n(128, 4), n(128, 4))] * 2, T.batched_dot,
            lambda x, y: torch.bmm(x, y), 0, 2 * n(512, 2) * n(128, 4) ** 3),
        Row("rows at positions", lambda: [floats(million, 128), integers(million, million // 10)], lambda x, i: x[i],
            lambda x, i: x[i], 102 * million),
        Row("add at positions", lambda: [floats(million // 10, 128), floats(million // 10, 128),
                                         integers(million // 10, million // 10)],
            lambda x, y, i: T.inc_subtensor(x[i], y), lambda x, y, i: x.index_add(0, i, y), 256 * million),
        Row("elements of a mask", lambda: [floats(10 * million)], lambda x: x[x > half], lambda x: x[x > 0.5],
            50 * million),
        Row("cumulative sum of rows", lambda: [floats(n(1000, 5), n(10 ** 4, 30))], lambda x: T.cumsum(x, 1),
            lambda x: x.cumsum(1), 8 * n(10 ** 7, 150), 0, 22),
        Row("cumulative sum of 1e6", lambda: [floats(million)], T.cumsum, lambda x: x.cumsum(0), 8 * million, 0, 5.6),
        Row("cumulative sum of 1e8", lambda: [floats(big)], T.cumsum, lambda x: x.cumsum(0), 8 * big, 0, 305),
        Row("sort rows", lambda: [floats(n(10 ** 4, 5), n(1000, 30))], T.sort, lambda x: x.sort().values,
            8 * n(10 ** 7, 150), 0, 125),
        Row("sort 1e5", lambda: [floats(n(10 ** 5, 90))], T.sort, lambda x: x.sort().values, 8 * n(10 ** 5, 90), 0, 31),
        Row("order of 1e5", lambda: [floats(n(10 ** 5, 90))], T.argsort, lambda x: x.argsort(stable=True),
            12 * n(10 ** 5, 90), 0, 35),
        Row("sort 1e7", lambda: [floats(draws)], T.sort, lambda x: x.sort().values, 8 * draws, 0, 453),
        Row("MRG uniform, float32", list, uniform("float32"), lambda: torch.rand(draws, device="cuda"), 4 * draws, 0,
            17),
        Row("MRG uniform, float64", list, uniform("float64"),
            lambda: torch.rand(draws, device="cuda", dtype=torch.float64), 8 * draws, 0, 21),
        Row("FFT of rows", lambda: [floats(n(4096, 2), n(1024, 8))], rfft, lambda x: torch.fft.rfft(x),
            8 * n(4096 * 1024, 16), 0, 11),
        *[Row(f"Cholesky {length}", lambda length=length: [definite(length)], T.slinalg.cholesky,
              lambda x: torch.linalg.cholesky(x), 0, length ** 3 / 3, time)
          for length, time in zip(lengths, (19, 38, 165, 660))],
        *[Row(f"solve {length}", lambda length=length: [definite(length), floats(length)], T.slinalg.solve,
              lambda x, y: torch.linalg.solve(x, y), 0, length ** 3 * 2 / 3, time)
          for length, time in zip(lengths[:3], (121, 225, 971))],
        Row("solve 512 x 512", lambda: [definite(lengths[-1]), floats(lengths[-1], lengths[-1])], T.slinalg.solve,
            lambda x, y: torch.linalg.solve(x, y), 0, lengths[-1] ** 3 * 8 / 3),
        Row("eigenvalues 128", lambda: [definite(n(128, 6))], lambda x: T.linalg.eigh(x)[0],
            lambda x: torch.linalg.eigvalsh(x)),
    ]
    return table


def kernels(runs, phintys, T):
    """All rows of the table, or those whose names have one of the words ``runs.rows``."""
    torch = runs.peer("torch")
    for row in rows(runs.small, phintys, T, torch):
        if runs.rows and not any([word in row.name for word in runs.rows]):
            continue
        if runs.left() < 15:
            print(f"time is up before: {row.name}", flush=True)
            return
        runs.guarded(row.name, lambda: one(runs, phintys, torch, row), 25)


def on_host(function):
    """The nodes that read arrays on the host."""
    return [str(node.op) for node in function.maker.fgraph.toposort()
            if not str(node.op).startswith(("Gpu", "HostFromGpu", "Shape_i"))
            and any([getattr(variable.type, "ndim", 0) for variable in node.inputs])]


def one(runs, phintys, torch, row):
    """A row: the least time of each competitor, how far the results are apart, what the first call took."""
    arrays = row.arrays()
    values = [phintys.gpu.host_from_gpu(phintys.shared(array, target="cuda")) for array in arrays]
    found = row.mine(*values)
    expressions = list(found) if isinstance(found, (list, tuple)) else [found]
    start = perf_counter()
    function = phintys.function([], [phintys.Out(phintys.gpu.gpu_from_host(each), borrow=True) for each in expressions])
    compiling = perf_counter() - start

    def timed():
        start = perf_counter()
        found = function()
        phintys.gpu.wait()
        return found, perf_counter() - start
    first, second = timed()[1], timed()[1]
    found, second = timed() if second > 0.001 else (function(), second)
    competitors, numbers = {"phintys": (function, phintys.gpu.wait)}, {}
    if torch and row.theirs:
        tensors = [torch.from_numpy(numpy.array(array)).cuda() for array in arrays]
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
        if arrays:
            numbers["error"] = error_of(torch, found, row.theirs(*tensors))
        competitors["torch"] = (lambda: row.theirs(*tensors), torch.cuda.synchronize)
    del found
    best = {"phintys": second} if second > 1 else {}
    rest = {name: who for name, who in competitors.items() if name not in best}
    best |= runs.minima(rest, min(0.25, max(0.05, 20 * second))) if rest else {}
    numbers |= {f"{who} us": seconds * 1e6 for who, seconds in best.items()}
    if "torch" in best:
        numbers["times torch"] = best["phintys"] / best["torch"]
    if row.prototype and not runs.small:
        numbers["times prototype"] = best["phintys"] * 1e6 / row.prototype
    if row.moved:
        numbers["GB/s"] = row.moved / best["phintys"] / 1e9
    if row.operations:
        numbers["TFLOPS"] = row.operations / best["phintys"] / 1e12
    numbers["compiling and first call s"] = compiling + first
    runs.note("kernels", row.name, **numbers)
    if on_host(function):
        print(f"  {row.name}: on the host: {on_host(function)[:3]}", flush=True)


def error_of(torch, found, expected):
    """The largest relative error of the results, by norms."""
    expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    errors = []
    for mine, theirs in zip(found, expected, strict=True):
        kind = torch.complex128 if theirs.is_complex() else torch.float64
        mine, theirs = torch.from_dlpack(mine).to(kind), theirs.detach().to(kind)
        assert mine.shape == theirs.shape, (mine.shape, theirs.shape)
        errors.append(float((mine - theirs).norm() / max(float(theirs.norm()), 1e-30)))
    return max(errors)
