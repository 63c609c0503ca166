"""The first thing that runs on a machine with a GPU: each thing that only a real driver shows, alone, in seconds.

    python -I smoke.py TESTS_GPU_FOLDER [--stand-in]

Prints OK or FAILED for each step, with the last lines of the traceback, and goes on. The exit status is the number of
failures.
"""
import os
import sys
import threading
import time
import traceback

import numpy

import phintys
import phintys.tensor as T

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
HERE, STAND_IN = sys.argv[1], "--stand-in" in sys.argv
failed, STEPS = [], []


def step(function):
    STEPS.append(function)
    return function


def closes(found, expected, tolerance=1e-5):
    found, expected = numpy.asarray(found, "float64"), numpy.asarray(expected, "float64")
    error = numpy.linalg.norm(found - expected) / max(numpy.linalg.norm(expected), 1e-30)
    assert error < tolerance, f"relative error {error:.3g}"
    return f"relative error {error:.1e}"


@step
def versions():
    import scipy
    names = []
    for name in ("torch", "jax", "cupy"):
        try:
            from importlib.metadata import version
            names.append(f"{name} {version('cupy-cuda13x' if name == 'cupy' else name)}")
        except Exception:
            names.append(f"no {name}")
    return f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, {', '.join(names)}"


@step
def libraries():
    from phintys.gpu.runtime.libraries import packaged
    from phintys.gpu.runtime.nvrtc import installed
    found = [f"{library.version} up to {library.architectures[-1]}" for library in installed()]
    more = {name: [str(path) for path in packaged(f"lib{name}.so.*")][:2] for name in
            ("cublas", "cudnn", "cufft", "cusolver", "nvrtc")}
    return f"{phintys.__file__}; NVRTC: {found}; packaged: {more}"


@step
def open_the_device():
    start = time.perf_counter()
    device = phintys.gpu.use(move_shared_to_gpu=False)
    return f"{device!r}, cuBLAS {device.has_cublas}, {time.perf_counter() - start:.2f} s"


def shared(value):
    return phintys.shared(value, target="cuda")


def there(expression):
    """A function whose result stays on the device."""
    return phintys.function([], phintys.Out(phintys.gpu.gpu_from_host(expression), borrow=True))


@step
def elementwise():
    value = numpy.random.RandomState(0).uniform(-2, 2, (300, 70)).astype("float32")
    x = phintys.gpu.host_from_gpu(shared(value))
    start = time.perf_counter()
    f = phintys.function([], [T.tanh(x * numpy.float32(0.5)) + 1, x[::2].T * 2, (x ** 2).sum(0)])
    for _ in range(4):
        first, second, third = f()
    closes(second, value[::2].T * 2)
    closes(third, (value.astype("float64") ** 2).sum(0))
    return closes(first, numpy.tanh(value * 0.5) + 1) + f", {time.perf_counter() - start:.2f} s with compiling"


@step
def products_by_cublas():
    a, b = numpy.random.RandomState(0).uniform(-1, 1, (2, 257, 257)).astype("float32")
    x, y = [phintys.gpu.host_from_gpu(shared(value)) for value in (a, b)]
    texts, f = [], phintys.function([], T.dot(x, y.T))
    exact = a.astype("float64") @ b.T.astype("float64")
    for tf32 in (False, True):
        with phintys.change_flags({"gpu.tf32": tf32}):
            for _ in range(3):
                found = f()
        texts.append(f"TF32 {tf32}: " + closes(found, exact, 2e-3 if tf32 else 1e-5))
    with phintys.change_flags({"gpu.cublas": False}):
        texts.append("own: " + closes(phintys.function([], T.dot(x, y.T))(), exact))
    return ", ".join(texts)


def network(rows=64, labels_there=False):
    random = numpy.random.RandomState(1)
    w = [shared(random.uniform(-.1, .1, shape).astype("float32")) for shape in ((784, 100), (100, 10))]
    x, y = T.fmatrix(), T.lvector()
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(T.tanh(T.dot(x, w[0])), w[1])), y).mean()
    step = phintys.function([x, y], cost, updates=[(each, each - numpy.float32(.1) * slope)
                                                   for each, slope in zip(w, T.grad(cost, w))])
    return step, random.uniform(-1, 1, (rows, 784)).astype("float32"), random.randint(0, 10, rows)


@step
def training_is_replayed():
    train, x, y = network()
    costs = [float(train(x, y)) for _ in range(9 if STAND_IN else 30)]
    before = phintys.gpu.memory_report()
    calls = 3 if STAND_IN else 200
    start = time.perf_counter()
    for _ in range(calls):
        cost = float(train(x, y))
    seconds = (time.perf_counter() - start) / calls
    after = phintys.gpu.memory_report()
    names = "submitted", "captured", "replayed", "uploads", "downloads", "misses"
    counts = {name: (after[name] - before[name]) / calls for name in names}
    assert costs[0] > costs[-1] > cost, (costs[0], costs[-1], cost)
    return f"cost {costs[0]:.3f} -> {cost:.3f}, {seconds * 1e6:.0f} us a call; a call has {counts}"


@step
def a_loop():
    v, u = shared(numpy.ones((3, 4), "float32")), shared((numpy.eye(4) / 2).astype("float32"))
    rows, _ = phintys.scan(lambda state: T.tanh(T.dot(state, u)), outputs_info=phintys.gpu.host_from_gpu(v), n_steps=50)
    f = phintys.function([], rows.sum(0))
    for _ in range(5):
        found = f()
    expected, state = 0, numpy.ones((3, 4))
    for _ in range(50):
        state = numpy.tanh(state / 2)
        expected = expected + state
    return closes(found, expected)


@step
def convolution():
    from scipy.signal import correlate
    a, b = [numpy.random.RandomState(0).uniform(-1, 1, shape).astype("float32")
            for shape in (((2, 3, 6, 7), (4, 3, 3, 3)) if STAND_IN else ((2, 9, 20, 21), (7, 9, 3, 3)))]
    x, w = [phintys.gpu.host_from_gpu(shared(value)) for value in (a, b)]
    out = T.nnet.conv2d(x, w, filter_flip=False)
    found, by_w = phintys.function([], [out, T.grad((out ** 2).sum(), w)])()
    expected = numpy.stack([[correlate(image.astype("float64"), filters, "valid")[0] for filters in b] for image in a])
    assert by_w.shape == b.shape
    return closes(found, expected)


@step
def more_elements_than_2_to_the_31():
    count = 1000 if STAND_IN else 2 ** 31 + 12345
    value = numpy.zeros(count, "uint8")
    value[-3], value[5] = 200, 7
    there = shared(value)
    x = phintys.gpu.host_from_gpu(there)
    start = time.perf_counter()
    total, place, last, strided = phintys.function([], [x.sum(), x[-900:].argmax(), (x * 2 + 1)[-4:], x[::-2][:3]])()
    assert (int(total), int(place)) == (207, 897), (total, place)
    assert last.tolist() == [1, 401, 1, 1] and strided.tolist() == value[::-2][:3].tolist(), (last, strided)
    both = shared(numpy.zeros(1, "uint8"))
    phintys.function([], [], updates=[(both, T.maximum(x, x[::-1]))])()         # strides, with 64 bits
    y = phintys.gpu.host_from_gpu(both)
    found = phintys.function([], [y[2], y[5], y[count - 3], y[count - 6], y[1]])()
    assert [int(number) for number in found] == [200, 7, 200, 7, 0], found
    del x, y, there, both
    phintys.gpu.trim()
    return f"{time.perf_counter() - start:.2f} s"


@step
def errors_are_told_and_nothing_is_lost():
    train, x, y = network(8)
    w = train.get_shared()[0]
    before = w.get_value()
    try:
        train(x, y + 100)
    except ValueError as error:
        text = str(error).splitlines()[0]
    else:
        raise AssertionError("no error")
    assert numpy.array_equal(before, w.get_value())
    train(x, y)
    return text


@step
def no_memory():
    if STAND_IN:
        return "not on the stand-in"
    x = phintys.gpu.host_from_gpu(shared(numpy.ones(1 << 19, "float32")))
    f = phintys.function([], phintys.gpu.gpu_from_host(T.outer(x, x)))        # 1 TiB
    try:
        f()
    except MemoryError as error:
        text = str(error).splitlines()[0]
    else:
        raise AssertionError("no MemoryError")
    assert phintys.function([], x.sum())() == 1 << 19
    return text


@step
def threads():
    train, x, y = network()
    v = shared(numpy.arange(6, dtype="float32"))
    found = []

    def work():
        for _ in range(2 if STAND_IN else 20):
            train(x, y)
        found.append(v.get_value(return_internal_type=True).get().sum())
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [15] * 4, found


@step
def torch_and_phintys():
    import torch
    v = shared(numpy.arange(12, dtype="float32").reshape(3, 4))
    seen = torch.from_dlpack(v.get_value(borrow=True, return_internal_type=True))
    assert seen.is_cuda and float(seen.sum()) == 66
    mine = torch.arange(5, dtype=torch.float32, device="cuda") * 3
    taken = phintys.shared(mine, borrow=True)
    assert phintys.function([], taken + 1)().tolist() == [1, 4, 7, 10, 13]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.ones(1 << 24, device="cuda")
        for _ in range(50):
            late = late * 1.01
        x = phintys.gpu.GpuArrayType("float32", (False,))("x")
        total = phintys.function([x], phintys.gpu.host_from_gpu(x).mean())(late)
    return closes(total, 1.01 ** 50, 1e-3) + ", of another stream"


@step
def cupy_and_phintys():
    import cupy
    v = shared(numpy.arange(12, dtype="float32").reshape(3, 4))
    assert float(cupy.asarray(v.get_value(borrow=True, return_internal_type=True)).sum()) == 66
    taken = phintys.shared(cupy.arange(5, dtype="float32"), borrow=True)
    assert phintys.function([], taken * 2)().tolist() == [0, 2, 4, 6, 8]


@step
def jax_and_phintys():
    import jax
    v = shared(numpy.arange(12, dtype="float32").reshape(3, 4))
    assert float(jax.dlpack.from_dlpack(v.get_value(borrow=True, return_internal_type=True)).sum()) == 66
    taken = phintys.shared(jax.numpy.arange(5, dtype="float32"), borrow=True)
    assert phintys.function([], taken * 2)().tolist() == [0, 2, 4, 6, 8]


@step
def errors_of_the_driver_are_sticky_and_told():
    """Last: the process is lost after it. In a process of its own."""
    if STAND_IN:
        return "not on the stand-in"
    import subprocess
    text = """
import numpy, phintys, phintys.tensor as T
import pycuda.driver as cuda
phintys.gpu.use(move_shared_to_gpu=False)
x = phintys.shared(numpy.ones(1000, "float32"), target="cuda")
f = phintys.function([], phintys.gpu.host_from_gpu(x) * 2)
f()
from phintys.gpu.runtime.nvrtc import find_nvrtc
image = find_nvrtc(architecture=phintys.gpu.the_device().architecture).compile(
    'extern "C" __global__ void bad(float* x) { x[(size_t)1 << 40] = 1; }', phintys.gpu.the_device().architecture)
cuda.module_from_buffer(image).get_function("bad")(numpy.intp(0), block=(1, 1, 1), grid=(1, 1))
for attempt in (f, phintys.gpu.wait, lambda: phintys.shared(numpy.ones(123456, "float32"), target="cuda")):
    try:
        attempt()
        print("no error")
    except BaseException as error:
        print(type(error).__name__, "|", str(error).splitlines()[0][:200])
"""
    done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=60)
    return f"exit status {done.returncode}:\n    " + "\n    ".join(
        (done.stdout + "\n" + done.stderr[-600:]).strip().splitlines())


@step
def a_device_opened_by_a_thread():
    import subprocess
    text = ("import sys\n" + (f"sys.path.insert(0, {HERE!r})\nfrom conftest import find_device\nfind_device()\n"
                              if STAND_IN else "") + """
import threading, numpy, phintys
def work():
    phintys.gpu.use(move_shared_to_gpu=False)
    phintys.shared(numpy.ones(3, "float32"), target="cuda").get_value()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(phintys.shared(numpy.ones(3, "float32"), target="cuda").get_value())
""")
    done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stdout[-300:], done.stderr[-600:])


def main():
    if STAND_IN:
        sys.path.insert(0, HERE)
        from conftest import find_device
        find_device()
    for function in STEPS:
        start = time.perf_counter()
        try:
            text, verdict = function() or "", "OK    "
        except BaseException as error:
            if isinstance(error, ImportError) and function.__name__.endswith("and_phintys"):
                text, verdict = str(error), "none  "
            else:
                failed.append(function.__name__)
                text, verdict = "\n    " + "\n    ".join(traceback.format_exc().strip().splitlines()[-8:]), "FAILED"
        print(f"{verdict} {function.__name__} ({time.perf_counter() - start:.1f} s) {text}", flush=True)
    print(f"smoke: {len(STEPS) - len(failed)} of {len(STEPS)} passed; failed: {', '.join(failed) or 'none'}")
    sys.exit(min(len(failed), 100))


main()
