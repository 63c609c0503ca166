"""``map`` and ``sweep``: by threads, executors, and a cluster of processes on this machine."""
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import phintys.tensor as T
from phintys import function, shared
from phintys.distributed import as_task, map, map_blocks, reduce_blocks, sweep
from tests.support.loopback import skip_without_loopback

x, s = T.dvector("x"), T.dscalar("s")
ROWS = [numpy.arange(3.0) + number for number in range(20)]


def squares():
    return function([x], T.sqr(x), name="squares")


def test_threads_of_this_process():
    assert numpy.array_equal(map(squares(), ROWS), numpy.square(ROWS))
    assert map(function([x, s], (x * s).sum()), ROWS, range(20)) == [row.sum() * n for n, row in enumerate(ROWS)]
    assert map(len, iter([[1], [1, 2]])) == [1, 2] and map(squares(), []) == []
    both = threading.Barrier(2, timeout=30) if len(os.sched_getaffinity(0)) > 1 else None
    assert map(lambda one: both and both.wait() in (0, 1), [1, 2]) == [both and True] * 2    # at the same time


def test_executors():
    with ThreadPoolExecutor(2) as pool:
        assert numpy.array_equal(map(squares(), ROWS, client=pool), numpy.square(ROWS))


def test_settings():
    found = sweep(lambda rate, steps: rate * steps, rate=[1, 2], steps=[10, 20])
    assert found == [({"rate": 1, "steps": 10}, 10), ({"rate": 1, "steps": 20}, 20), ({"rate": 2, "steps": 10}, 20),
                     ({"rate": 2, "steps": 20}, 40)]
    found = sweep(function([x, s], (x * s).sum()), x=[[1.0, 2.0]], s=[1.0, 3.0])
    assert [result for _, result in found] == [3, 9]


def test_a_failing_call_is_named_and_the_others_are_cancelled():
    begun = []

    def call(number):
        begun.append(number)
        if number == 3:
            raise KeyError("a word")
        time.sleep(0.001 * (number > 3))

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyError, match="call 3 of map"):
        map(call, range(10_000), client=pool)
    assert len(begun) < 10_000
    with pytest.raises(TypeError, match=r"(?s)Wrong number of dimensions.*call 1 of map, of <task 'squares'>"):
        map(squares(), [[1.0], [[1.0]]])


@pytest.mark.parametrize("given, error, message", [
    ((squares,), ValueError, "one or more sequences of the same length: they have none"),
    ((squares, [1], [1, 2]), ValueError, "they have 1, 2")])
def test_mistakes(given, error, message):
    with pytest.raises(error, match=message):
        map(*given)
    with pytest.raises(TypeError, match="client is None, a dask.distributed.Client, .* not 3"):
        map(squares(), [[1.0]], client=3)
    with pytest.raises(TypeError, match="updates t"):
        map(function([s], s, updates=[(t := shared(0.0, "t"), t + s)]), [1.0])


def test_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("phintys.graph.progress.PATIENCE", 0)
    map(squares(), ROWS, progress=True)
    assert "map squares" in capsys.readouterr().err


# ---- a cluster of processes on this machine --------------------------------------------------------------------------
@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("dask.distributed")
    skip_without_loopback()
    with (distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster,
          distributed.Client(cluster) as made):
        yield made


def linked_by_workers(client):
    """How many tasks each worker has linked."""
    return [*client.run(lambda: len(__import__("phintys.distributed.task", fromlist=["x"])._tasks)).values()]


def test_workers_link_a_program_once(client):
    task = as_task(squares())
    found = client.gather(client.map(task, ROWS))
    assert numpy.array_equal(found, numpy.square(ROWS)) and set(linked_by_workers(client)) == {1}
    assert numpy.array_equal(client.gather(client.map(squares(), ROWS)), numpy.square(ROWS))
    assert client.submit(task, ROWS[0]).key == client.submit(as_task(squares()), ROWS[0]).key


def test_functions_with_shared_values_are_read_once_by_a_worker(client):
    w = shared(numpy.full(3, 2.0), "w")
    f = function([x], x * w, name="weighed")
    assert numpy.array_equal(client.gather(client.map(f, ROWS)), 2 * numpy.array(ROWS))
    w.set_value(numpy.zeros(3))
    assert not numpy.any(client.gather(client.map(f, ROWS)))
    read = client.run(lambda: [model.name for model, _ in
                               __import__("phintys.making.function_copies", fromlist=["x"])._remade.values()])
    assert all(names.count("weighed") == 1 for names in read.values()), read
    train = function([x], [], updates=[(w, w + x)])
    for submit in (lambda: client.submit(train, ROWS[0]), lambda: client.map(train, ROWS)):
        with pytest.raises(TypeError, match="updates w: tasks may run on any worker"):
            submit()


def test_arrays_that_come_in_messages(client):
    """They are read-only or not aligned, as messages are cut."""
    rows = client.scatter([numpy.random.default_rng(number).random(100 + number) for number in range(8)])
    found = client.gather([client.submit(as_task(squares()), row) for row in rows])
    assert all(numpy.array_equal(one, numpy.square(row)) for one, row in zip(found, client.gather(rows)))


def test_map_and_sweep_by_a_cluster(client):
    for given in (client, client.cluster, client.scheduler.address):
        assert numpy.array_equal(map(squares(), ROWS, client=given), numpy.square(ROWS))
    assert sweep(lambda a, b: a - b, client, a=[1, 2], b=[3])[1] == ({"a": 2, "b": 3}, -1)
    with pytest.raises(TypeError, match="call 1 of map, of <task 'squares'>"):
        map(squares(), [[1.0], [[1.0]]], client=client)


def test_blocks_by_a_cluster(client):
    import dask.array as da

    values, m = numpy.random.default_rng(7).random((40, 6)), T.dmatrix("m")
    array = da.from_array(values, chunks=(7, 4))
    result = map_blocks(function([m], T.tanh(m)), array)
    assert numpy.allclose(result.compute(), numpy.tanh(values))
    assert numpy.isclose(reduce_blocks(function([m], m.sum()), array).compute(), values.sum())
    with pytest.raises(numpy.linalg.LinAlgError, match=r"block \(0, 0\) of <task 'factor'>"):
        map_blocks(function([m], T.slinalg.cholesky(m), name="factor"), -array[:4, :4]).compute()


def test_workers_of_this_machine_update_a_value_in_shared_memory(client):
    w = shared(0.0, "w", target="memory")
    add = function([], [], updates=[(w, w + 1)])
    client.gather([client.submit(add, pure=False) for _ in range(20)])
    assert w.get_value() == 20
    assert client.submit(add).key != client.submit(function([], [], updates=[(w, w + 2)])).key


def test_a_worker_that_dies(client, tmp_path):
    """Its calls are made again, by others, and each counts once."""
    from dask.distributed import wait

    task, path = as_task(function([x], x.sum())), str(tmp_path / "died")

    def dying(value):
        """The first process to call it ends without a word."""
        import os

        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return task(value)
        os._exit(1)

    futures = client.map(dying, ROWS, retries=3)
    wait(futures, timeout=60)
    assert sum(client.gather(futures)) == numpy.sum(ROWS) and (tmp_path / "died").exists()
