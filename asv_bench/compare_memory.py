"""Peaks of memory of forward passes and gradients by phintys, JAX and PyTorch, program by program.

    python asv_bench/compare_memory.py [--programs REGEX] [--backends phintys,jax,torch]

The programs are the same for all: networks whose values take much more memory than their weights, in float64. A peak is
what values and results take at once while a call runs, without arguments. Of phintys it is what ``memory_report`` says
for ``allow_gc=True`` and ``"plan"``, and what its pool counts in a call; neither has the scratch memory of kernels,
which has a column of its own. Of JAX it is what the compiler says (``memory_analysis``: temporaries and results),
without scratch memory that its kernels allocate; of PyTorch what its allocator tells its profiler, with such memory.
``bound`` is the largest sum of what is alive at one instruction in phintys' order. Results are compared.
``PEERS_PYTHON`` is the interpreter that has JAX, and ``TORCH_PYTHON`` (``PEERS_PYTHON`` if it is not set) that with
PyTorch; phintys is imported by this one.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy

MIB = 1 << 20


# ---- the programs: functions of a back end's operations and of arguments ---------------------------------------------
def layers(k, x, *weights):
    """50 layers of 100 units, 2,000 rows."""
    for weight in weights:
        x = k.tanh(k.matmul(x, weight))
    return x


def convolutions(k, x, *filters):
    """8 convolutions, 16 images of 16 channels of 32 x 32."""
    for each in filters:
        x = k.relu(k.conv(x, each))
    return x


def lstm(k, x, u, w):
    """An LSTM written out: 100 steps of 64 rows of 64."""
    state, memory = x[0] * 0.0, x[0] * 0.0
    for step in range(100):
        gates = k.matmul(x[step], u) + k.matmul(state, w)
        enter, leave, keep, new = [gates[:, 64 * part:64 * (part + 1)] for part in range(4)]
        memory = k.sigmoid(keep) * memory + k.sigmoid(enter) * k.tanh(new)
        state = k.sigmoid(leave) * k.tanh(memory)
    return state


def unet(k, x, *filters):
    """A U-Net of depth 3 with skip connections, 8 images of 16 channels of 64 x 64."""
    filters, kept = iter(filters), []
    for _ in range(3):
        x = k.relu(k.conv(k.relu(k.conv(x, next(filters))), next(filters)))
        kept.append(x)
        x = k.pool(x)
    x = k.relu(k.conv(x, next(filters)))
    for early in reversed(kept):
        x = k.relu(k.conv(k.join([k.larger(x), early], 1), next(filters)))
    return x


def attention(k, x, *weights):
    """8 layers of attention and two products, 4 x 128 rows of 64."""
    weights = iter(weights)
    for _ in range(8):
        rows = normal(k, x)
        query, key, value = [k.matmul(rows, next(weights)) for _ in range(3)]
        chosen = k.softmax(k.matmul(query, k.turned(key)) / 8.0)
        x = x + k.matmul(k.matmul(chosen, value), next(weights))
        x = x + k.matmul(k.relu(k.matmul(normal(k, x), next(weights))), next(weights))
    return x


def normal(k, x):
    """Rows without their mean, divided by their deviation."""
    x = x - k.mean(x)
    return x / k.sqrt(k.mean(x * x) + 1e-5)


PROGRAMS = {
    layers: [(2000, 100), *[(100, 100)] * 50],
    convolutions: [(16, 16, 32, 32), *[(16, 16, 3, 3)] * 8],
    lstm: [(100, 64, 64), (64, 256), (64, 256)],
    unet: [(8, 16, 64, 64), *[(16, 16, 3, 3)] * 7, *[(16, 32, 3, 3)] * 3],
    attention: [(4, 128, 64), *[(64, 64), (64, 64), (64, 64), (64, 64), (64, 256), (256, 64)] * 8],
}


def operands(program):
    """Random arguments: the weights small enough for values to stay of one size."""
    chance = numpy.random.default_rng(1)
    shapes = PROGRAMS[program]
    return [chance.standard_normal(shapes[0]), *[
        chance.standard_normal(shape) / numpy.prod(shape[1:] if len(shape) == 4 else shape[:1]) ** 0.5
        for shape in shapes[1:]]]


# ---- back ends: (program, whether with its gradient) -> {figure: bytes}, results -------------------------------------
def of_phintys(program, gradient):
    import phintys
    import phintys.tensor as T
    from phintys.tensor.signal.pool import pool_2d
    operations = SimpleNamespace(
        matmul=T.matmul, tanh=T.tanh, sigmoid=T.nnet.sigmoid, sqrt=T.sqrt, relu=T.nnet.relu,
        conv=lambda x, filters: T.nnet.conv2d(x, filters, border_mode="half", filter_flip=False),
        pool=lambda x: pool_2d(x, (2, 2), ignore_border=True),
        larger=lambda x: T.repeat(T.repeat(x, 2, axis=2), 2, axis=3),
        join=lambda values, axis: T.concatenate(values, axis=axis),
        softmax=lambda x: T.nnet.softmax(x.reshape((-1, 128))).reshape(x.shape), turned=lambda x: x.dimshuffle(0, 2, 1),
        mean=lambda x: x.mean(axis=-1, keepdims=True))
    values = operands(program)
    arguments = [T.TensorType("float64", (False,) * value.ndim)() for value in values]
    cost = (program(operations, *arguments) ** 2).sum()
    results, figures = T.grad(cost, arguments[1:]) if gradient else [cost], {}
    for mode in (True, "plan"):
        function = phintys.function(arguments, results, mode=phintys.Mode(allow_gc=mode))
        found = [function(*values) for _ in range(3)][-1]
        report = function.memory_report()
        figures[f"allow_gc={mode}"] = report.modes[mode].peak
        figures[f"{mode}, counted"] = counted(phintys.memory, function, values)
    return {**figures, "bound": report.lower_bound, "scratch": max(report.scratch.values(), default=0)}, found


def counted(memory, function, values):
    """Bytes that a call takes from the pool and the function keeps for it, once calls repeat."""
    function.free()
    before = memory.stats()["live_bytes"]
    for _ in range(3):
        memory.reset_peak()
        function(*values)
    return memory.stats()["peak_bytes"] - before


def of_jax(program, gradient):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    operations = SimpleNamespace(
        matmul=jnp.matmul, tanh=jnp.tanh, sigmoid=jax.nn.sigmoid, sqrt=jnp.sqrt, relu=jax.nn.relu,
        conv=lambda x, filters: jax.lax.conv_general_dilated(x, filters, (1, 1), "SAME"),
        pool=lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        larger=lambda x: jnp.repeat(jnp.repeat(x, 2, axis=2), 2, axis=3),
        join=jnp.concatenate, softmax=jax.nn.softmax, turned=lambda x: jnp.swapaxes(x, 1, 2),
        mean=lambda x: x.mean(axis=-1, keepdims=True))

    def cost(weights, x):
        return (program(operations, x, *weights) ** 2).sum()

    x, *weights = operands(program)
    compiled = jax.jit(jax.grad(cost) if gradient else cost).lower(weights, x).compile()
    memory, found = compiled.memory_analysis(), compiled(weights, x)
    return {"JAX": memory.temp_size_in_bytes + memory.output_size_in_bytes}, found if gradient else [found]


def of_torch(program, gradient):
    import torch
    operations = SimpleNamespace(
        matmul=torch.matmul, tanh=torch.tanh, sigmoid=torch.sigmoid, sqrt=torch.sqrt, relu=torch.relu,
        conv=lambda x, filters: torch.nn.functional.conv2d(x, filters, padding="same"),
        pool=lambda x: torch.nn.functional.max_pool2d(x, 2),
        larger=lambda x: x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3),
        join=torch.cat, softmax=lambda x: torch.softmax(x, -1), turned=lambda x: x.transpose(1, 2),
        mean=lambda x: x.mean(-1, keepdim=True))
    x, *weights = [torch.tensor(value) for value in operands(program)]

    def call():
        with torch.set_grad_enabled(gradient):
            cost = (program(operations, x, *weights) ** 2).sum()
        return torch.autograd.grad(cost, weights) if gradient else [cost]

    for weight in weights:
        weight.requires_grad_()
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        found = call()
    live = peak = 0
    for event in sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return {"PyTorch": peak}, [result.detach() for result in found]


BACK_ENDS = {"phintys": of_phintys, "jax": of_jax, "torch": of_torch}


# ---- measuring -------------------------------------------------------------------------------------------------------
def work(back_end, pattern):
    """What a process of a back end does: a line of JSON for each program, without and with its gradient."""
    for program in PROGRAMS:
        for gradient in (False, True):
            name = f"{program.__name__}, {'gradient' if gradient else 'forward'}"
            if re.search(pattern, name):
                figures, results = BACK_ENDS[back_end](program, gradient)
                probe = sum([float(numpy.abs(numpy.asarray(result)).sum()) for result in results])
                print(json.dumps([name, figures, probe]), flush=True)


def run(back_end, pattern):
    """(figures, a number to compare) by name."""
    peers = os.environ.get("PEERS_PYTHON", sys.executable)
    interpreter = {"phintys": sys.executable, "torch": os.environ.get("TORCH_PYTHON", peers)}.get(back_end, peers)
    done = subprocess.run([interpreter, __file__, "--worker", back_end, "--programs", pattern],
                          env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True)
    if done.returncode:
        print(f"{back_end}: {(done.stderr.strip().splitlines() or ['failed'])[-1][:200]}", file=sys.stderr)
    return {name: (figures, probe) for name, figures, probe in map(json.loads, done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="", help="a regular expression")
    parser.add_argument("--backends", default="phintys,jax,torch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker, options.programs)
    found = {back_end: run(back_end, options.programs) for back_end in options.backends.split(",")}
    names = list(dict.fromkeys([name for figures in found.values() for name in figures]))
    rows = {name: {} for name in names}
    for figures in found.values():
        for name, (sizes, _) in figures.items():
            rows[name].update(sizes)
    columns = list(dict.fromkeys([column for row in rows.values() for column in row]))
    print(f"| MiB | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join([f'{row[column] / MIB:.2f}' if column in row else '' for column in columns])} |")
        probes = [figures[name][1] for figures in found.values() if name in figures]
        if max(probes) - min(probes) > 1e-6 * max(probes):
            print(f"{name}: results differ: {probes}", file=sys.stderr)


if __name__ == "__main__":
    main()
