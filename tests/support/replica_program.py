"""What ``tests/api/distributed/test_replica.py`` runs in four processes: each function, in all of them.

    mpirun -n 4 python -m mpi4py tests/support/replica_program.py FOLDER [NAME ...]
"""
import os
import sys

import numpy
from mpi4py import MPI

import phintys
import phintys.tensor as T
from phintys.distributed import ProcessError, common_memory, exchange, replicate
from phintys.ifelse import ifelse

comm = MPI.COMM_WORLD
X = numpy.random.default_rng(1).normal(size=(42, 5)) * 10.0 ** numpy.arange(-2, 3)
Y = numpy.random.default_rng(2).normal(size=(42, 3))


def network(seed=0, dtype="float64"):
    """A network with the rules of gradient descent with momentum."""
    generator = numpy.random.default_rng(seed)
    x, y = T.matrix("x", dtype), T.matrix("y", dtype)
    weights = [phintys.shared(generator.normal(size=shape).astype(dtype), f"w{number}")
               for number, shape in enumerate([(5, 7), (7,), (7, 3), (3,)])]
    velocities = [phintys.shared(0 * w.get_value(), f"v{number}") for number, w in enumerate(weights)]
    cost = T.sqr(T.tanh(x.dot(weights[0]) + weights[1]).dot(weights[2]) + weights[3] - y).sum()
    gradients = T.grad(cost, weights)
    updates = []
    for w, v, gradient in zip(weights, velocities, gradients):
        velocity = numpy.float32(0.5) * v - numpy.float32(1e-5) * gradient
        updates += [(v, velocity), (w, w + velocity)]
    return x, y, weights, cost, gradients, updates


def values_of(variables):
    return [variable.get_value() for variable in variables]


def same(left, right, exactly=True):
    return all(numpy.array_equal(*pair) if exactly else numpy.allclose(*pair, rtol=1e-9) for pair in zip(left, right))


def everywhere(values):
    """Whether all processes have these values, bit by bit."""
    return all(same(values, other) for other in comm.allgather(values))


def raised(call, kind=ProcessError):
    """The message of the error that a call raises, in all processes."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"process {comm.rank}: nothing was raised")


def trained(steps=5, **options):
    x, y, weights, cost, gradients, updates = network(seed=comm.rank)
    replica = replicate(updates, gradients, **options)
    step = replica.function([x, y], cost)
    costs = [step(replica.part(X), replica.part(Y)) for _ in range(steps)]
    return replica, step, weights, costs


def test_as_in_one_process():
    replica, _, weights, costs = trained()
    assert everywhere(values_of(weights)) and replica.steps == 5
    x, y, alone, cost, _, updates = network()
    step = phintys.function([x, y], cost, updates=updates)
    total = [step(X, Y) for _ in range(5)]
    assert same(values_of(weights), values_of(alone), exactly=False)
    assert numpy.allclose(numpy.sum(comm.allgather(costs), axis=0), total)


def test_in_a_fixed_order():
    """Bit by bit what one process computes that adds the parts in their order."""
    replica, _, weights, _ = trained(deterministic=True)
    x, y, alone, cost, gradients, updates = network()
    parts = phintys.function([x, y], gradients)
    sums = [gradient.type() for gradient in gradients]
    updates = [(variable, phintys.clone(new, dict(zip(gradients, sums)))) for variable, new in updates]
    step = phintys.function(sums, [], updates=updates)
    for _ in range(5):
        found = [parts(X[42 * n // 4:42 * (n + 1) // 4], Y[42 * n // 4:42 * (n + 1) // 4]) for n in range(4)]
        step(*[((a + b) + c) + d for a, b, c, d in zip(*found)])
    assert everywhere(values_of(weights)) and same(values_of(weights), values_of(alone))
    assert same(values_of(weights), values_of(trained(deterministic=True)[2]))
    w, x = phintys.shared(0.0, "w"), T.dscalar("x")             # Reduce and Allreduce of MPI give 2 and 0
    replicate([(w, x)], [x], deterministic=True).function([x])([1e16, 1.0, -1e16, 1.0][comm.rank])
    assert w.get_value() == 1


def test_by_messages_as_on_several_machines():
    """All that is exchanged, in another way; and the way that one machine takes, if there is no room in its memory."""
    mapped, paths = common_memory._mapped, []

    def refusing_one(path, length):                             # it cannot open what process 0 has made
        paths.append(path)
        return None if comm.rank == 2 else mapped(path, length)

    ways = {"on_one_machine": lambda comm: False, "FOLDER": "/no/such/folder", "LINE": 1 << 50, "_mapped": refusing_one}
    for name, other in ways.items():
        present = getattr(common_memory, name)
        setattr(common_memory, name, other)
        try:
            replica, _, weights, _ = trained()
            assert type(replica._exchange._way) is exchange.Messages and everywhere(values_of(weights))
            if name == "on_one_machine":
                for test in (test_as_in_one_process, test_in_a_fixed_order, test_memory_orders_and_lengths,
                             test_shapes_that_differ, test_a_call_that_fails, test_means_and_other_dtypes):
                    test()
        finally:
            setattr(common_memory, name, present)
    assert len(paths) == common_memory.on_one_machine(comm) and not any(map(os.path.exists, paths))


def test_which_way():
    """Which of both this is depends on how the processes were started, and is noticed."""
    replica, _, weights, _ = trained()
    ways = set(comm.allgather(type(replica._exchange._way).__name__))
    assert ways == {os.environ.get("EXPECTED_WAY", "CommonMemory")} and everywhere(values_of(weights))


def test_modes():
    found = []
    for mode in ("FAST_RUN", "FAST_COMPILE", phintys.compile.NanGuardMode()):
        x, y, weights, cost, gradients, updates = network()
        replica = replicate(updates, gradients)
        replica.function([x, y], cost, mode=mode)(replica.part(X), replica.part(Y))
        assert everywhere(values_of(weights))
        found.append(values_of(weights))
    assert same(found[0], found[1], exactly=False) and same(found[0], found[2], exactly=False)
    assert "debug the function that one process" in raised(
        lambda: replica.function([x, y], cost, mode="DebugMode"), ValueError)


def test_means_and_other_dtypes():
    x, y, weights, cost, gradients, updates = network(dtype="float32")
    replica = replicate(updates, gradients, average=True)
    step = replica.function([x, y], cost)
    step(X.astype("f4"), Y.astype("f4"))                # the same in all processes: the mean is what one computes
    x, y, alone, cost, gradients, updates = network(dtype="float32")
    phintys.function([x, y], cost, updates=updates)(X.astype("f4"), Y.astype("f4"))
    assert all(numpy.allclose(*pair, rtol=1e-5) for pair in zip(values_of(weights), values_of(alone)))
    for dtype in ("complex128", "int64", "float32"):
        total = phintys.shared(numpy.zeros((), dtype), "total")
        given = T.TensorType(dtype, ())("given")
        replicate([(total, total + given)], [given]).function([given])(numpy.asarray(comm.rank + 1, dtype))
        assert total.get_value() == 10 and total.get_value().dtype == dtype


def test_memory_orders_and_lengths():
    w, m = phintys.shared(numpy.zeros((3, 2)), "w"), T.dmatrix("m")
    step = replicate([(w, w + m)], [m]).function([m])
    given = numpy.arange(6.0).reshape(3, 2)
    step(numpy.asfortranarray(given) if comm.rank % 2 else given)
    assert numpy.array_equal(w.get_value(), 4 * given)
    one = T.constant(numpy.ones((3, 2)))                        # it is not folded
    replicate([(w, one * 2)], [one]).function()()
    assert numpy.array_equal(w.get_value(), numpy.full((3, 2), 8))
    w = phintys.shared(numpy.zeros((0, 2)), "w")
    for deterministic in (False, True):
        replicate([(w, w + m)], [m], deterministic=deterministic).function([m])(numpy.zeros((0, 2)))


def test_sums_that_are_kept_stay_as_they_are():
    """They lie where later calls write: what is returned, or is a new value, is not there."""
    w, x = phintys.shared(numpy.zeros(500), "w"), T.dvector("x")
    for options in ({}, {"average": True}, {"deterministic": True}):
        replica = replicate([(w, x)], [x], **options)
        step = replica.function([x], [replica.updates[w], replica.updates[w][::-1]])
        found = []
        for number in range(6):
            found += [*step(numpy.full(500, number + comm.rank, "f8")), w.get_value(borrow=True)]
        for number, array in enumerate(found):
            assert set(array) == {(4 * (number // 3) + 6) / (4 if "average" in options else 1)}
        found[0][:] = 0                                         # the caller's
        assert w.get_value()[0] != 0 and everywhere(values_of([w]))


def test_the_last_layers_are_started_first():
    replica, step, _, _ = trained(1)
    shapes = replica._exchange.shapes
    assert (sorted(shapes[:2]), sorted(shapes[2:])) == ([(3,), (7, 3)], [(5, 7), (7,)])
    text = step.compiled.explain()
    assert text.index("StartSum(") < text.index("float64[5,7] = dot") < text.rindex("StartSum(")
    assert text.count("StartSum(") == 4 and text.count("WaitForSums(") == 1


def differing(**changes):
    """What process 2 does otherwise than the others, as an argument of ``replicate``."""
    w = phintys.shared(numpy.zeros(changes.get("length", 3), changes.get("dtype", "float64")), changes.get("name", "w"))
    x = T.vector("x", changes.get("dtype", "float64"))
    gradient = T.exp(x) if changes.get("op") else T.tanh(x)
    return lambda: replicate([(w, w - changes.get("rate", 0.5) * gradient)], [gradient] * changes.get("count", 1),
                             deterministic=changes.get("deterministic", False))


DIFFERENCES = [({"length": 4}, "the shared variables: process 0 has .*(3,).*, process 2 has .*(4,)"),
               ({"dtype": "float32"}, "the shared variables"), ({"name": "v"}, "the shared variables"),
               ({"op": True}, "the expressions of the updates"), ({"rate": 0.25}, "the expressions of the updates"),
               ({"count": 2}, "the gradients"), ({"deterministic": True}, "the options of replicate")]


def test_what_differs_is_an_error_everywhere():
    for change, message in DIFFERENCES:
        said = raised(differing(**change if comm.rank == 2 else {}))
        assert said.startswith("the processes differ in " + message.split(":")[0]) and "process 2 has" in said
    differing()()


def test_shapes_that_differ():
    w, x = phintys.shared(numpy.zeros(3), "w"), T.dvector("x")
    total = x.sum()
    step = replicate([(w, w + total)], [total]).function([x])
    step(numpy.ones(comm.rank))                                 # of what is not exchanged: no matter
    assert w.get_value().tolist() == [6.0] * 3
    step = replicate([(w, w + x)], [x]).function([x])
    said = raised(lambda: step(numpy.ones(3 + (comm.rank == 1))))
    assert "process 0 has [(3,)], process 1 has [(4,)]" in said
    step(numpy.ones(3))
    said = raised(lambda: step(numpy.ones(3 + (comm.rank == 3))))
    assert "process 3: array 0 of the exchange has the shape (4,), and had (3,) in the first call" in said
    assert everywhere(values_of([w])) and w.get_value().tolist() == [10.0] * 3


def test_a_call_that_fails():
    for deterministic in (False, True):
        for steps in (0, 2):
            replica, step, weights, _ = trained(steps, deterministic=deterministic)
            before = values_of(weights)
            kind = ValueError if comm.rank == 1 else ProcessError
            said = raised(lambda: step(X, Y[:3] if comm.rank == 1 else Y), kind)
            assert "nothing is updated by it. process 1: ValueError: Shape mismatch" in said or comm.rank == 1
            assert same(before, values_of(weights)) and replica.steps == steps
            step(replica.part(X), replica.part(Y))              # goes on
            assert everywhere(values_of(weights)) and replica.steps == steps + 1


def test_a_branch_that_is_not_taken():
    w, x, chosen = phintys.shared(numpy.zeros(3), "w"), T.dvector("x"), T.lscalar("chosen")
    gradient = T.exp(x)
    step = replicate([(w, ifelse(chosen, w + gradient, w))], [gradient]).function([x, chosen])
    step(numpy.zeros(3), 1)
    said = raised(lambda: step(numpy.zeros(3), int(comm.rank != 2)))
    assert "in a branch that it did not take" in said and w.get_value().tolist() == [4.0] * 3


def test_values_that_differ_are_found():
    replica, step, weights, _ = trained(1)
    if comm.rank == 3:                                          # it was interrupted after the sums
        replica._exchange.rounds -= 1
    said = raised(lambda: step(replica.part(X), replica.part(Y)))
    assert "some process has made 1 calls with success, and another 0" in said
    if comm.rank == 3:
        weights[0].set_value(0 * weights[0].get_value())
    replica.broadcast()
    step(replica.part(X), replica.part(Y))
    assert everywhere(values_of(weights))


def test_averages():
    for deterministic in (False, True):
        w, count, x = phintys.shared(float(comm.rank), "w"), phintys.shared(0, "count"), T.dscalar("x")
        replica = replicate([(w, w + x), (count, count + 1)], every=2, deterministic=deterministic)
        step = replica.function([x], w)
        assert w.get_value() == 0                               # that of process 0
        assert step(comm.rank) == 0 and w.get_value() == comm.rank
        assert step(comm.rank) == comm.rank and w.get_value() == 3 and count.get_value() == 2
        replica.average()
        assert w.get_value() == 3 and everywhere(values_of([w]))
        if comm.rank == 1:
            raised(lambda: step("no number"), TypeError)
        else:
            step(1.0)
            assert "so nothing is updated by it. process 1: " in raised(lambda: step(1.0))
    assert "only those made with every=" in raised(trained(0)[0].average, ValueError)


def test_checkpoints_restart_with_another_number(folder):
    path = os.path.join(folder, "checkpoint.npz")
    replica, step, weights, _ = trained(3)
    replica.save(path)
    before = values_of(weights)
    step(replica.part(X), replica.part(Y))
    half = comm.Split(comm.rank // 2)
    x, y, fewer, cost, gradients, updates = network(seed=9)
    other = replicate(updates, gradients, comm=half)
    other.restore(path)
    assert same(values_of(fewer), before) and (other.steps, other.size) == (3, 2)
    other.function([x, y], cost)(other.part(X), other.part(Y))
    assert same(values_of(fewer), values_of(weights), exactly=False)
    assert "process 0: FileNotFoundError" in raised(lambda: replica.restore(path + "x"))
    assert "process 0: FileNotFoundError" in raised(lambda: replica.save(os.path.join(folder, "no", "such")))
    w = phintys.shared(1.0, "w")
    small = replicate([(w, w + 1)], every=3)
    assert "has 8 values, the training has 1" in raised(lambda: small.restore(path)) and w.get_value() == 1
    small.save(path)
    assert "has 1 values, the training has 8" in raised(lambda: replica.restore(path))


def test_mistakes():
    w, x, half = phintys.shared(1.0, "w"), T.dscalar("x"), phintys.shared(numpy.float16(1), "half")
    for updates, options, message in [
            ([(w, w + x)], {}, "needs the gradients"), ([(w, w + x)], {"gradients": [T.exp(x)]}, "occurs in no update"),
            ([(w, w + x)], {"every": 0}, "from 1 on, not 0"), ([(w, w + x)], {"every": 1.5}, "not 1.5")]:
        assert message in raised(lambda: replicate(updates, **options), ValueError)
    gradient = T.cast(x, "float16")
    for options in ({"gradients": [gradient]}, {"every": 2}):
        assert "MPI cannot sum the" in raised(lambda: replicate([(half, half + gradient)], **options), TypeError)


def main(folder, *names):
    for name, test in list(globals().items()):
        if name in names or not names and name.startswith("test_"):
            test(*[folder] * test.__code__.co_argcount)
            comm.Barrier()
            if comm.rank == 0:
                print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
