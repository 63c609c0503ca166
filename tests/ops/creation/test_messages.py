"""Arrays in messages: the ops, and what they do with a communicator; no other process is needed."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.creation import messages
from phintys.tensor import io


class Request:
    def __init__(self, action):
        self.action = action

    def wait(self):
        self.action()


class Postbox:
    """Delivers what is sent when its receiver waits for it."""

    def __init__(self):
        self.sent = {}

    def Isend(self, data, dest, tag):
        self.sent[tag] = data
        return Request(lambda: None)

    def Irecv(self, data, source, tag):
        return Request(lambda: data.__setitem__(Ellipsis, self.sent.pop(tag)))


def test_sent_and_received(monkeypatch):
    box = Postbox()
    monkeypatch.setattr(messages, "communicator", lambda: box)
    x = T.fmatrix()
    sent = phintys.function([x], io.send(x * 2, 1, 11))
    received = phintys.function([], io.recv((2, 3), "float32", 0, 11) + 1)
    value = numpy.arange(6, dtype="float32").reshape(2, 3)
    assert sent(value) is True
    numpy.testing.assert_array_equal(received(), value * 2 + 1)


def test_nodes_and_keys():
    x = io.recv((10, 10), "float64", 0, 11)
    start = x.owner.inputs[0].owner
    assert x.type == T.dmatrix and (start.op.source, start.op.tag) == (0, 11)
    done = io.send(T.dmatrix(), 1, 12)
    sending = done.owner.inputs[0].owner
    assert (sending.op.dest, sending.op.tag) == (1, 12)
    nodes = [done.owner, x.owner, sending, start]
    assert sorted(map(io.mpi_send_wait_key, nodes)) == [-1, -1, 1, 1] and io.mpi_tag_key((x + 1).owner) == 0
    assert io.mpi_tag_cmp(start, sending) == -1 and io.mpi_send_wait_cmp(done.owner, sending) == 1
    assert [len(io.mpi_keys), len(io.mpi_cmps)] == [2, 2]


@pytest.mark.skipif(io.mpi_enabled, reason="mpi4py is installed")
def test_without_the_package():
    with pytest.raises(ImportError, match="needs the package mpi4py"):
        phintys.function([], io.recv((2,), "float64", 0, 1))()
