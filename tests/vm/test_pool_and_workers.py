"""The buffer pool keeps what it may, returns the rest, and can be emptied; large loops start the workers they need."""
import ctypes
import os
import platform
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from watched_threads import run_watched

import phintys
import phintys.tensor as T
from phintys.ops.convolution.convolution_kernel import ConvolutionKernel
from phintys.vm import pool
from phintys.vm.abi import run_kernel


@pytest.fixture
def empty_pool():
    pool.trim_pool()
    limit = pool.pool_statistics()["limit_bytes"]
    yield
    pool.set_pool_limit(limit)


def doubled():
    x = T.vector()
    return phintys.function([x], x * 2)


@phintys.config.change_flags(stress=False)         # which keeps nothing
def test_freed_memory_is_kept_up_to_the_limit(empty_pool):
    f = doubled()
    f(np.zeros(200000))
    assert 1600000 <= pool.pool_statistics()["kept_bytes"] <= 1700000
    pool.set_pool_limit(1 << 20)
    assert pool.pool_statistics()["kept_bytes"] <= 1 << 20
    f(np.zeros(200000))
    assert pool.pool_statistics()["kept_bytes"] <= 1 << 20


def test_trim_returns_everything(empty_pool):
    f = doubled()
    for size in (100, 5000, 300000):
        f(np.zeros(size))
    pool.trim_pool()
    assert pool.pool_statistics()["kept_bytes"] == 0
    np.testing.assert_array_equal(f(np.ones(5000)), np.full(5000, 2.0))


def resident_bytes():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or phintys.config.stress, reason="it is glibc's heap")
def test_trim_returns_what_lies_free_in_the_heap():
    libc, block = ctypes.CDLL(None), 60000
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(block) for _ in range(1000)]
    last = libc.malloc(block)                       # so that the others are not the end of the heap
    for address in blocks:
        ctypes.memset(address, 1, block)
    full = resident_bytes()
    for address in blocks:
        libc.free(address)
    phintys.memory.trim()
    assert resident_bytes() < full - 800 * block
    libc.free(last)


@phintys.config.change_flags(stress=False)         # which keeps nothing
def test_blocks_serve_requests_of_similar_size_only(empty_pool):
    f = doubled()
    f(np.zeros(1000000))
    misses = pool.pool_statistics()["misses"]
    f(np.zeros(990000))
    assert pool.pool_statistics()["misses"] == misses
    f(np.zeros(300000))
    assert pool.pool_statistics()["misses"] == misses + 1


def test_the_limit_is_a_configuration_flag(empty_pool):
    with phintys.change_flags(pool_limit=3):
        assert pool.pool_statistics()["limit_bytes"] == 3 << 20
    assert pool.pool_statistics()["limit_bytes"] == phintys.config.pool_limit << 20


def test_a_request_no_memory_can_serve_is_an_error_and_leaves_the_function_usable():
    x = T.col()
    y = T.row()
    f = phintys.function([x, y], x + y)
    column, row = np.zeros((1, 1)), np.zeros((1, 1))
    huge = np.lib.stride_tricks.as_strided(column, (1 << 24, 1), (0, 8)), np.lib.stride_tricks.as_strided(
        row, (1, 1 << 24), (8, 0))
    with pytest.raises(MemoryError, match="no memory"):
        f(*huge)
    assert f(column, row).shape == (1, 1)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_workers(workers):
    x = T.matrix()
    with phintys.change_flags(workers=workers):
        f = phintys.function([x], [T.exp(x) * T.tanh(x), x.sum(), x.sum(axis=0), x.max(axis=1)])
    value = np.random.RandomState(0).rand(1000, 700)
    for result, expected in zip(f(value), [np.exp(value) * np.tanh(value), value.sum(), value.sum(0), value.max(1)]):
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_many_loops_of_all_lengths(workers):
    """Short ones, which workers share only while they are awake, and long ones, in any order and without pauses."""
    x = T.dvector()
    with phintys.change_flags(workers=workers):
        f = phintys.function([x], 2 * x + 1)
    random = np.random.RandomState(1)
    value = random.rand(500000)
    expected = 2 * value + 1
    for size in [60000] * 40 + [100000] * 20 + list(random.randint(1, 500000, 20)):
        assert (f(value[:size]) == expected[:size]).all()


def test_short_loops_wake_the_workers_once_they_follow_each_other():
    program = """
    import numpy, phintys
    from phintys.vm.workers import workers_started
    x = phintys.tensor.dvector()
    with phintys.change_flags(workers=2):
        f = phintys.function([x], x + 1)
    f(numpy.zeros(80000))
    print(workers_started())
    for _ in range(100):
        f(numpy.zeros(80000))
    print(workers_started())
    f(numpy.zeros(1000000))
    print(workers_started())
    """
    run = subprocess.run([sys.executable, "-I", "-c", textwrap.dedent(program)], capture_output=True, text=True)
    lines = run.stdout.split()
    assert lines[0] == "0" and lines[2] == "1", run.stderr     # between them it depends on how fast the calls were


def test_products_of_a_quarter_of_a_piece_wake_the_workers_and_keep_their_bits():
    program = """
    import numpy, phintys, phintys.tensor as T
    from phintys.vm.workers import workers_started
    x, v = T.dmatrix(), T.dvector()
    matrix, vector = numpy.random.RandomState(0).rand(400, 784), numpy.random.RandomState(1).rand(784)
    alone = phintys.function([x, v], T.dot(x, v))
    with phintys.change_flags(workers=2):
        shared = phintys.function([x, v], T.dot(x, v))
    expected = alone(matrix, vector)
    for _ in range(20000):                  # 16 within 5 ms are enough, so few, where nothing interrupts them
        if workers_started():
            break
        assert (shared(matrix, vector) == expected).all()
    for _ in range(50):
        assert (shared(matrix, vector) == expected).all()
    print(workers_started())
    """
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = subprocess.run([sys.executable, "-I", "-c", textwrap.dedent(program)], capture_output=True, text=True,
                         env=environment)
    assert run.stdout == "1\n", run.stderr


def test_callers_in_several_threads_share_the_workers():
    x = T.dvector()
    with phintys.change_flags(workers=2):
        f = phintys.function([x], T.exp(x) + x)
    values = [np.random.RandomState(seed).rand(200000) for seed in range(4)]
    expected = [f(value) for value in values]

    def call_often(number):
        for _ in range(10):
            assert (f(values[number]) == expected[number]).all()
        return number

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call_often, range(4))) == [0, 1, 2, 3]


def test_a_loop_has_no_more_workers_than_it_wants():
    """Also if more were started before: kernels have scratch memory for those they want, and number them from 0."""
    none = (None,) * 4
    kernel = ConvolutionKernel("float32", "forward", 2, "half", (1, 1), (1, 1), True, 1, False, none, none)
    images, filters = np.ones((64, 8, 30, 30), "float32"), np.ones((4, 8, 3, 3), "float32")
    layout = [(images.dtype.num, 4)]
    expected, = run_kernel(kernel, [images, filters], layout, workers=6)
    for _ in range(20):
        np.testing.assert_array_equal(run_kernel(kernel, [images, filters], layout, workers=2)[0], expected)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_hand_over_loops_without_a_race(tmp_path, threads):
    assert run_watched("vm/crew_program.c", tmp_path, 2000, threads) == f"{threads - 1} workers\n"
