"""Convolutions and pooling of images by phintys, PyTorch, JAX and Theano, case by case.

    python asv_bench/compare_convolutions.py [--cases REGEX] [--threads 2] [--isa avx2] [--json FILE]
    python asv_bench/compare_convolutions.py --backends phintys,torch --cases "3x3 .* by filters"

A case is named by the window, the channels and filters, the side of the images, their number and what is computed, such
as ``3x3 16>32 64 b1 forward``. Borders are filled so that results are as large as images. Images and filters are
random, and results are compared. Each back end runs in a process of its own, once a round, and the best round of each
case counts. ``PEERS_PYTHON`` and ``THEANO_PYTHON`` are the interpreters that have PyTorch and JAX, and Theano; phintys
is imported by this one. Printed are the number of cases in which phintys is ahead of each of the others or takes at
most 1.1 times as long, for each kind of case, and the cases that are behind. One thread is kept to the last processor.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

import numpy

WINDOWS = (1, 3, 5)
CHANNELS = ((1, 16), (3, 32), (16, 16), (64, 64), (256, 256))   # of images, and of results
SIDES = (8, 16, 32, 64)
NUMBERS = (1, 32)                       # of images
ROLES = ("forward", "by images", "by filters")
MOST = 2.5e9                            # multiplications of a case
POOLED = ((2, 2), (3, 2), (3, 1))       # windows and their steps
POOL_CHANNELS = (3, 16, 64)
NEAR = 1.1                              # at most so many times as long is near
# Keeps a library to AVX2; phintys by its own option.
AVX2 = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "PHINTYS_FLAGS": "cpu=avx2"}


def cases():
    """What is measured: name and parameters."""
    for window in WINDOWS:
        for channels, filters in CHANNELS:
            for side in SIDES:
                for number in NUMBERS:
                    if number * side**2 * channels * filters * window**2 > MOST:
                        continue
                    for role in ROLES:
                        yield (f"{window}x{window} {channels}>{filters} {side} b{number} {role}",
                               (role, window, channels, filters, side, number))
    for window, step in POOLED:
        for channels in POOL_CHANNELS:
            for side in SIDES:
                for number in NUMBERS:
                    for role in ("maxima", "gradient", "both"):
                        yield (f"pool {window}x{window}/{step} {channels} {side} b{number} {role}",
                               (role, window, step, channels, side, number))


def operands(role, window, *lengths, dtype):
    """Random arrays: image, filters and gradient of the result; of pooling image and gradient."""
    values = numpy.random.default_rng(1)
    if role in ROLES:
        channels, filters, side, number = lengths
        shapes = (number, channels, side, side), (filters, channels, window, window), (number, filters, side, side)
    else:
        step, channels, side, number = lengths
        count = (side - window) // step + 1
        shapes = (number, channels, side, side), (number, channels, count, count)
    return [values.normal(size=shape).astype(dtype) for shape in shapes]


# ---- a call of each back end ---------------------------------------------------------------------------------------
def of_theano(name):
    """Calls of phintys or Theano, which differ by their names only."""
    lib = __import__(name)
    tensor = __import__(f"{name}.tensor", fromlist=["tensor"])
    conv = __import__(f"{name}.tensor.nnet.abstract_conv", fromlist=["conv2d"])
    pool = __import__(f"{name}.tensor.signal.pool", fromlist=["pool_2d"])
    made = {}

    def make(key, dtype):
        role, window, step = key
        image, filters, top = (tensor.TensorType(dtype, (False,) * 4)(name) for name in ("image", "filters", "top"))
        shape, border = tensor.lvector("shape"), {"border_mode": "half", "filter_flip": False}
        if role == "forward":
            return lib.function([image, filters], conv.conv2d(image, filters, **border))
        if role == "by images":
            gradient = conv.AbstractConv2d_gradInputs(**border)(filters, top, shape)
            return lib.function([top, filters, shape], gradient)
        if role == "by filters":
            gradient = conv.AbstractConv2d_gradWeights(**border)(image, top, shape)
            return lib.function([image, top, shape], gradient)
        pooled = pool.pool_2d(image, (window, window), ignore_border=True, stride=(step, step))
        if role == "maxima":
            return lib.function([image], pooled)
        if role == "both":
            return lib.function([image, top], [pooled, lib.grad(None, image, known_grads={pooled: top})])
        gradient = pool.MaxPoolGrad(ignore_border=True)(
            image, filters, top, ws=(window, window), stride=(step, step), pad=(0, 0))
        return lib.function([image, filters, top], gradient)

    def call(parameters, arrays):
        role, window, step = parameters[:3]
        key = (role, window, step if role not in ROLES else None)
        if key not in made:
            made[key] = make(key, arrays[0].dtype.name)
        f = made[key]
        if role not in ROLES:
            image, top = arrays
            if role == "gradient":
                windows = numpy.lib.stride_tricks.sliding_window_view(image, (window, window), (2, 3))
                maxima = windows[:, :, ::step, ::step].max((4, 5))
                return lambda: f(image, maxima, top)
            return (lambda: f(image)) if role == "maxima" else lambda: f(image, top)[1]
        image, filters, top = arrays
        if role == "forward":
            return lambda: f(image, filters)
        if role == "by images":
            return lambda shape=numpy.array(image.shape[2:]): f(top, filters, shape)
        return lambda shape=numpy.array(filters.shape[2:]): f(image, top, shape)
    return call


def of_torch():
    """Calls of PyTorch without its graphs."""
    import torch
    torch.set_grad_enabled(False)
    aten = torch.ops.aten

    def call(parameters, arrays):
        role, window, step = parameters[:3]
        arrays = [torch.from_numpy(array) for array in arrays]
        if role == "maxima":
            return lambda: torch.nn.functional.max_pool2d(arrays[0], window, step)
        if role not in ROLES:
            image, top = arrays

            def pooled():
                return torch.nn.functional.max_pool2d(image, window, step, return_indices=True)[1]

            def gradient(places):
                return aten.max_pool2d_with_indices_backward(
                    top, image, [window] * 2, [step] * 2, [0, 0], [1, 1], False, places)
            places = pooled()
            return (lambda: gradient(pooled())) if role == "both" else lambda: gradient(places)
        image, filters, top = arrays
        pad = window // 2
        if role == "forward":
            return lambda: torch.nn.functional.conv2d(image, filters, padding=pad)
        wanted = [role == "by images", role == "by filters", False]
        which = wanted.index(True)
        return lambda: aten.convolution_backward(
            top, image, filters, None, [1, 1], [pad, pad], [1, 1], False, [0, 0], 1, wanted)[which]
    return call


def of_jax():
    """Calls of JAX, each compiled for its shapes."""
    import jax
    lax = jax.lax

    def pooled(image, window, step):
        return lax.reduce_window(image, -numpy.inf, lax.max, (1, 1, window, window), (1, 1, step, step), "VALID")

    def call(parameters, arrays):
        role, window, step = parameters[:3]
        conv = lambda image, filters: lax.conv(image, filters, (1, 1), "SAME")   # noqa: E731
        if role in ROLES:
            image, filters, top = map(jax.numpy.asarray, arrays)
            f, given = {"forward": (conv, (image, filters)),
                        "by images": (lambda w, g: jax.vjp(lambda x: conv(x, w), image)[1](g)[0], (filters, top)),
                        "by filters": (lambda x, g: jax.vjp(lambda w: conv(x, w), filters)[1](g)[0], (image, top)),
                        }[role]
        else:
            image, top = map(jax.numpy.asarray, arrays)
            f, given = {"maxima": (lambda x: pooled(x, window, step), (image,)),
                        "gradient": (lambda x, g: jax.vjp(lambda x: pooled(x, window, step), x)[1](g)[0],
                                     (image, top)),
                        "both": (lambda x, g: jax.vjp(lambda x: pooled(x, window, step), x)[1](g)[0], (image, top)),
                        }[role]
        f = jax.jit(f)
        return lambda: f(*given).block_until_ready()
    return call


BACK_ENDS = {"phintys": lambda: of_theano("phintys"), "torch": of_torch, "jax": of_jax,
             "theano": lambda: of_theano("theano")}


# ---- measuring -----------------------------------------------------------------------------------------------------
def shortest(call, seconds=0.04, repetitions=5):
    """Seconds of a call: the best of some repetitions, which together take about `seconds` or as long as they must."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(seconds / repetitions / max(time.perf_counter() - start, 1e-7)))
    best = 1e9
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def work(back_end, pattern, dtype, threads):
    """What a process of a back end does: a line of JSON for each case."""
    if back_end == "torch":
        import torch
        torch.set_num_threads(threads)
    call = BACK_ENDS[back_end]()
    for name, parameters in cases():
        if re.search(pattern, name):
            arrays = operands(*parameters, dtype=dtype)
            f = call(parameters, arrays)
            result = numpy.asarray(f(), "float64")
            probe = float(numpy.abs(result).mean())
            print(json.dumps([name, shortest(f), probe]), flush=True)


def run(back_end, options):
    """Seconds and a number to compare, by case."""
    interpreter = {"phintys": sys.executable, "theano": os.environ.get("THEANO_PYTHON")}.get(
        back_end, os.environ.get("PEERS_PYTHON", sys.executable))
    if not interpreter:
        return {}
    number = str(options.threads)
    environment = dict(os.environ, THEANO_FLAGS="blas.ldflags=-lopenblas,device=cpu", JAX_PLATFORMS="cpu",
                       **{f"{name}_NUM_THREADS": number for name in ("OMP", "OPENBLAS", "MKL")})
    if options.isa == "avx2":
        environment.update(AVX2)
        environment["THEANO_FLAGS"] += ",gcc.cxxflags=-march=haswell"
    if options.threads > 1:
        environment["THEANO_FLAGS"] += ",openmp=True"
    command = [interpreter, __file__, "--worker", back_end, "--cases", options.cases, "--threads", number,
               "--dtype", options.dtype]
    if options.threads == 1:
        command = ["taskset", "-c", str((os.cpu_count() or 1) - 1), *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{back_end}: {(done.stderr.strip().splitlines() or ['failed'])[-1][:200]}", file=sys.stderr)
    return {name: (seconds, probe) for name, seconds, probe in map(json.loads, done.stdout.splitlines())}


def kind(name):
    """Of a case: the row of the summary in which it is counted."""
    words = name.split()
    return f"{words[0]} {words[1]} {words[-1]}" if words[0] == "pool" else f"{words[0]} {' '.join(words[4:])}"


def summary(times):
    """Lines in Markdown: how many cases of each kind are ahead of each back end, and near it."""
    others = [back_end for back_end in times if back_end != "phintys"]
    kinds = {}
    for name, (ours, _) in times["phintys"].items():
        for row in (kind(name), "pooling" if name.startswith("pool") else "convolutions"):
            for other in others:
                if name in times[other]:
                    kinds.setdefault(row, {}).setdefault(other, []).append(times[other][name][0] / ours)
    yield f"| | cases | {' | '.join(f'{other}: ahead, within {NEAR}, median' for other in others)} |"
    yield "|---|---|" + "---|" * len(others)
    for row in sorted(kinds):
        counts = [len(ratios) for ratios in kinds[row].values()]
        told = []
        for other in others:
            ratios = kinds[row].get(other, [])
            told.append(f"{sum(r >= 1 for r in ratios)}, {sum(r * NEAR >= 1 for r in ratios)}, "
                        f"{numpy.median(ratios):.2f}" if ratios else "")
        yield f"| {row} | {max(counts)} | {' | '.join(told)} |"


def behind(times, limit=1.0):
    """Lines: the cases in which another back end is quicker, with its time, ours, and the ratio."""
    for name, (ours, _) in times["phintys"].items():
        for other, found in times.items():
            if other != "phintys" and name in found and found[name][0] < limit * ours:
                yield (f"{name:36} {other:8} {found[name][0] * 1e6:10.1f} us, "
                       f"phintys {ours * 1e6:10.1f}: {found[name][0] / ours:.2f}")


def main():
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", default="phintys,torch,jax,theano")
    parser.add_argument("--cases", default="")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", choices=("native", "avx2"), default="native")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.cases, options.dtype, options.threads)
        return
    times = {}
    for _ in range(options.rounds):
        for back_end in options.backends.split(","):
            for name, (seconds, probe) in run(back_end, options).items():
                known = times.setdefault(back_end, {}).setdefault(name, (seconds, probe))
                times[back_end][name] = (min(seconds, known[0]), probe)
    for back_end, found in times.items():
        for name, (_, probe) in found.items():
            ours = times["phintys"].get(name, (0, probe))[1]
            if abs(ours - probe) > 1e-3 * abs(probe):
                print(f"{name}: mean magnitude of phintys {ours:g}, of {back_end} {probe:g}", file=sys.stderr)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(times, file)
    print("\n".join([*summary(times), "", *behind(times)]))


if __name__ == "__main__":
    main()
