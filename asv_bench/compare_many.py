"""Figures of docs/guide/many_machines.md: run it in an environment with Dask and mpi4py.

    python asv_bench/compare_many.py blocks | tasks | submitted | chains
    python asv_bench/compare_many.py pairs
    mpirun -n 2 python asv_bench/compare_many.py steps
    mpirun -n 2 python asv_bench/compare_many.py alone
    mpirun -n 1 python asv_bench/compare_many.py scaling [milliseconds of a step]

Rounds of the rows alternate; the smallest time of each row counts.
"""
import os
import shutil
import subprocess
import sys
import time

import numpy

import phintys
import phintys.tensor as T

BLOCK = 1 << 22                 # numbers: 32 MB
BLOCKS = 128                    # 4 GB


class Sink:
    """A place for results of any size, which keeps none."""

    def __setitem__(self, place, block):
        pass


def measured(rows, rounds, clocks=(time.perf_counter, time.process_time)):
    """Name → the smallest times by each clock."""
    best = {}
    for _ in range(rounds):
        for name, run in rows.items():
            before = [clock() for clock in clocks]
            run()
            times = [clock() - start for clock, start in zip(clocks, before)]
            best[name] = [min(pair) for pair in zip(times, best.get(name, times))]
    return best


def blocks(rounds=2):
    """Five operations on 4 GB, in two threads."""
    import dask
    import dask.array as da

    block = da.from_array(numpy.random.default_rng(1).normal(size=BLOCK), chunks=BLOCK)
    x = da.concatenate([block] * BLOCKS)
    v = T.dvector("v")
    f = phintys.function([v], T.tanh(2 * v + 1) * v - 3)
    rows = {"phintys": phintys.distributed.map_blocks(f, x),
            "NumPy in map_blocks": x.map_blocks(lambda v: numpy.tanh(2 * v + 1) * v - 3, dtype=x.dtype, meta=x._meta),
            "dask.array": da.tanh(2 * x + 1) * x - 3}
    with dask.config.set(scheduler="threads", num_workers=2):
        runs = {name: lambda row=row: da.store(row, Sink(), lock=False) for name, row in rows.items()}
        found = measured(runs, rounds)
    for name, (wall, processor) in found.items():
        print(f"{name:20} {wall:6.2f} s, {processor:6.2f} s of the processor")


def tasks(count=2000, rounds=7):
    """What a task costs more than one that does nothing."""
    import dask.array as da

    x = da.from_array(numpy.ones((count, 4)), chunks=(1, 4))
    m = T.dmatrix("m")
    rows = {"map_blocks": phintys.distributed.map_blocks(phintys.function([m], m + 1), x),
            "nothing": x.map_blocks(lambda block: block, dtype=x.dtype, meta=x._meta)}
    found = measured({name: lambda row=row: row.compute(scheduler="synchronous") for name, row in rows.items()}, rounds)
    for name, (_, processor) in found.items():
        print(f"{name:20} {processor / count * 1e6:6.1f} us a task")


def identity(array):
    """A task that does nothing."""
    return array


def submitted(count=500, rounds=5):
    """What a task of a client costs more than one that does nothing, with a worker in another process."""
    from dask.distributed import Client

    m = T.dmatrix("m")
    f = phintys.function([m], m + 1)
    arrays = [numpy.full((1, 4), number, float) for number in range(count)]
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        def run(task):
            client.gather(client.map(task, arrays, pure=False))

        found = measured({"as_task": lambda: run(phintys.distributed.as_task(f)), "Function": lambda: run(f),
                          "nothing": lambda: run(identity)}, rounds)
    for name, (wall, processor) in found.items():
        print(f"{name:20} {wall / count * 1e6:6.1f} us a task, {processor / count * 1e6:6.1f} of the client's")


def chain(seed, blocks=750, steps=2_000):
    """A random walk of Metropolis in loops of the virtual machine, whose values stay in the processor's caches."""
    streams = T.shared_randomstreams.RandomStreams(seed)
    moves, uniforms = streams.normal((steps, 10)), streams.uniform((steps,))

    def move(step, uniform, at):
        there = at + 0.5 * step
        ratio = T.exp((T.sqr(at) - T.sqr(there)).sum() / 2)
        return T.switch(T.lt(uniform, ratio), there, at)

    start = phintys.shared(numpy.zeros(10))
    path = phintys.scan(move, sequences=[moves, uniforms], outputs_info=start)[0]
    block = phintys.function([], path.mean(), updates=[(start, path[-1])])
    return float(numpy.mean([block() for _ in range(blocks)]))


def chains(rounds=3):
    """Four chains, one after the other and by two processes."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as pool:
        list(pool.map(chain, range(2)))
        found = measured({"one process": lambda: [chain(seed) for seed in range(4)],
                          "two processes": lambda: phintys.distributed.map(chain, range(4), client=pool)}, rounds)
    for name, (wall, _) in found.items():
        print(f"{name:20} {wall:6.2f} s")


def training(rows, **options):
    """A replica of a network, the function of a step, and this process's part of the rows."""
    x, y = T.fmatrix("x"), T.ivector("y")
    generator = numpy.random.default_rng(1)
    shapes = [(784, 500), (500, 500), (500, 10)]
    weights = [phintys.shared(generator.normal(size=shape, scale=0.05).astype("f4")) for shape in shapes]
    hidden = x
    for weight in weights[:-1]:
        hidden = T.tanh(T.dot(hidden, weight))
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(hidden, weights[-1])), y).sum()
    gradients = T.grad(cost, weights)
    updates = [(weight, weight - numpy.float32(1e-4) * gradient) for weight, gradient in zip(weights, gradients)]
    replica = phintys.distributed.replicate(updates, gradients)
    step = replica.function([x, y], cost, **options)
    return replica, step, (replica.part(generator.random((rows, 784), "f4")),
                           replica.part(generator.integers(0, 10, rows, "i4")))


def timed(thing, names):
    """The seconds that methods take from now on, by their names, as a dictionary that is added to."""
    totals = dict.fromkeys(names, 0.0)

    def wrapped(name, method):
        def call(*arguments):
            start = time.perf_counter()
            try:
                return method(*arguments)
            finally:
                totals[name] += time.perf_counter() - start
        return call

    for name in names:
        setattr(thing, name, wrapped(name, getattr(thing, name)))
    return totals


def steps(rows=2048, count=10, rounds=10):
    """Steps of a network on all rows, divided among the processes."""
    from mpi4py import MPI

    replica, step, given = training(rows, profile="profile" in sys.argv)
    step(*given)                                # from now on it is known how gradients are summed
    parts = [timed(replica._exchange, ("start", "finish")), timed(replica._exchange._way, ("add",))]
    found = measured({"step": lambda: [step(*given) for _ in range(count)]}, rounds)
    MPI.COMM_WORLD.Barrier()
    if replica.rank == 0:
        wall, processor = found["step"]
        print(f"{replica.size} processes: {wall / count * 1e3:.1f} ms a step, {processor / count * 1e3:.1f} ms of the "
              "processor in each")
        told = [f"{name} {1e3 * total / count / rounds:.2f} ms" for part in parts for name, total in part.items()]
        print(f"in process 0, on average: {', '.join(told)}; add, and waiting for the others, are in finish")
        if "profile" in sys.argv:
            step.compiled.profile.summary()


def pairs(rounds=4):
    """Steps by one process and by two, in turns, each with one thread; ``mpirun`` is called here."""
    folder = os.path.dirname(sys.executable)
    command = shutil.which("mpirun", path=os.pathsep.join([folder, os.environ["PATH"]]))
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(rounds):
        for size in best:
            told = subprocess.run([command, "-n", str(size), sys.executable, __file__, "steps"], check=True, text=True,
                                  stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
            print(told, end="", flush=True)
            best[size] = min(best[size], float(told.split(":")[1].split()[0]))
    print(f"at least {best[1]} ms by one process, {best[2]} ms by two: {best[1] / best[2]:.2f} times as fast")


def alone(rows=1024, count=10, rounds=10):
    """Steps of processes that do the same at the same time, each for itself: what the machine gives without sums."""
    from mpi4py import MPI

    world, MPI.COMM_WORLD = MPI.COMM_WORLD, MPI.COMM_SELF
    _, step, given = training(rows)
    world.Barrier()
    wall, _ = measured({"step": lambda: [step(*given) for _ in range(count)]}, rounds)["step"]
    print(f"process {world.rank} of {world.size}, alone: {wall / count * 1e3:.1f} ms a step")


NETWORKS = {"10 Gbit/s, 30 us": (1.25e9, 30e-6), "100 Gbit/s, 5 us": (12.5e9, 5e-6)}


def scaling(rows=1024, count=20, rounds=5):
    """Steps of 8 to 512 machines, each with a process and so many rows: computed, from what one process takes here.

    A sum of S bytes over P machines is taken to need 2 log2(P) messages and to send 2 S (P - 1) / P bytes from each,
    and to overlap with nothing; adding takes what it takes here.
    """
    replica, step, given = training(rows)
    arrays = [variable.get_value() for variable in replica.updates]
    found = measured({"step": lambda: [step(*given) for _ in range(count)],
                      "add": lambda: [numpy.add(array, array, array) for array in arrays * count]}, rounds)
    (alone, _), (adding, _) = [[time / count for time in found[name]] for name in ("step", "add")]
    if len(sys.argv) > 2:
        alone = float(sys.argv[2]) / 1e3
    size = sum([array.nbytes for array in arrays])
    print(f"measured: a step {alone * 1e3:.1f} ms, adding {size / 1e6:.1f} MB {adding * 1e3:.2f} ms")
    for name, (bandwidth, latency) in NETWORKS.items():
        for machines in (8, 32, 128, 512):
            sums = 2 * numpy.log2(machines) * latency + (2 * size / bandwidth + adding) * (machines - 1) / machines
            print(f"{name}: {machines:3} machines, computed: {(alone + sums) * 1e3:5.1f} ms a step, "
                  f"{machines * rows / (alone + sums):12,.0f} rows a second, {alone / (alone + sums):.2f} of the ideal")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
