"""What ``tests/api/distributed/test_machines.py`` runs: a client and a scheduler here, a worker on another machine.

    sh tests/support/two_machines.sh python tests/support/dask_program.py
"""
import os
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import dask.array
import numpy
from dask.distributed import Client, LocalCluster, wait

import phintys
import phintys.tensor as T
from phintys import distributed

TWO_MACHINES = Path(__file__).with_name("two_machines.sh")
VALUES = numpy.random.default_rng(3).normal(size=(60, 8))
x, m = T.dvector("x"), T.dmatrix("m")


@contextmanager
def worker(address, *options):
    """A process of a worker on the second machine, in another folder."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard",
               "--nthreads", "2", "--host", "10.77.0.2", *options]
    process = subprocess.Popen(["sh", str(TWO_MACHINES), "--on", "two", shlex.join(command)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def where(_):
    """The machine, the process, the folder, and whether the files of the client are there."""
    return socket.gethostname(), os.getpid(), os.getcwd(), os.path.exists("/dev/shm/of-the-client")


def test_there_is_another_machine(client):
    Path("/dev/shm/of-the-client").touch()
    host, process, folder, has_files = client.submit(where, 0).result()
    assert (host, socket.gethostname(), folder, has_files) == ("two", "one", "/", False) and folder != os.getcwd()


def test_calls_and_blocks(client):
    f = phintys.function([x], T.tanh(x) * 2, name="f")
    for one in (f, distributed.as_task(f)):
        assert numpy.allclose(distributed.map(one, VALUES, client=client), numpy.tanh(VALUES) * 2)
        assert numpy.allclose(client.gather(client.map(one, list(VALUES))), numpy.tanh(VALUES) * 2)
    array = dask.array.from_array(VALUES, chunks=(7, 3))
    result = distributed.map_blocks(phintys.function([m], T.exp(m)), array)
    assert numpy.allclose(result.compute(), numpy.exp(VALUES))
    total = distributed.reduce_blocks(phintys.function([m], m.sum()), array)
    assert numpy.isclose(total.compute(), VALUES.sum())
    found = distributed.sweep(phintys.function([x, s := T.dscalar("s")], (x * s).sum()), client, x=list(VALUES[:2]),
                              s=[1.0, 2.0])
    assert numpy.isclose(found[3][1], 2 * VALUES[1].sum())


def test_saved_programs(client, path="/tmp/of-the-client.phx"):
    """A file is of its machine; what was loaded travels."""
    phintys.function([x], x.sum() * phintys.shared(3.0)).save(path)
    assert client.submit(os.path.exists, path).result() is False
    assert client.submit(phintys.load(path), [1.0, 2.0]).result() == 9


def test_functions_with_values(client):
    w = phintys.shared(numpy.full(8, 2.0), "w")
    f = phintys.function([x], x * w)
    assert numpy.allclose(client.gather(client.map(f, list(VALUES))), 2 * VALUES)
    train = phintys.function([x], [], updates=[(w, w + x)])
    for call in (lambda: client.submit(train, VALUES[0]), lambda: distributed.map(train, VALUES, client=client)):
        assert "tasks may run on any worker" in raised(call, TypeError)


def test_values_that_both_see(client):
    far = phintys.shared(numpy.zeros(2), "far", target=distributed.DaskActor(client))
    add = phintys.function([], [], updates=[(far, far + 1)])
    client.gather([client.submit(add, pure=False) for _ in range(4)])
    add()
    assert far.get_value().tolist() == [5, 5]
    near = phintys.shared(numpy.zeros(2), "near", target="memory")
    assert "or is on another machine" in raised(lambda: client.submit(lambda v: v.get_value(), near).result())
    add = phintys.function([], [], updates=[(near, near + 1)])
    assert "or is on another machine" in raised(lambda: client.submit(add).result())
    assert near.get_value().tolist() == [0, 0]


def test_errors_are_named(client):
    factor = phintys.function([m], T.slinalg.cholesky(m), name="factor")
    array = dask.array.from_array(numpy.array([numpy.eye(2), -numpy.eye(2)]).reshape(4, 2), chunks=(2, 2))
    assert "block (1, 0) of <task 'factor'>" in raised(lambda: distributed.map_blocks(factor, array).compute(),
                                                       numpy.linalg.LinAlgError)


def test_a_worker_that_dies_in_map_blocks(client):
    """Its blocks are computed by another, and each counts once."""
    class Slow(phintys.Op):
        """Its input, after a while."""

        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            import time

            time.sleep(0.1)
            output_storage[0][0] = inputs[0].copy()

    array = dask.array.from_array(VALUES, chunks=(4, 8))
    total = distributed.reduce_blocks(phintys.function([m], Slow()(m).sum()), array)
    future = client.compute(total)
    process = client.submit(where, 1, pure=False).result()[1]
    assert not future.done()
    with worker(client.scheduler.address):
        client.wait_for_workers(2, timeout=60)
        os.kill(process, signal.SIGKILL)
        wait(future, timeout=60)
        assert numpy.isclose(future.result(), VALUES.sum())


def raised(call, kind=Exception):
    """The message of the error that a call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


def main():
    with (LocalCluster(n_workers=0, host="10.77.0.1", protocol="tcp", dashboard_address=None) as cluster,
          Client(cluster) as client, worker(client.scheduler.address)):
        client.wait_for_workers(1, timeout=60)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(client)
                print(name, flush=True)


if __name__ == "__main__":
    main()
