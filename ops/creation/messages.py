"""Arrays that are sent to other processes by MPI: ``send``, ``isend``, ``recv`` and ``irecv``, and their ops.

They need the package mpi4py when a function runs, not when it is made. A request is a value of the type ``generic``. If
nodes are sorted by `mpi_tag_key` and `mpi_send_wait_key`, processes do not wait for each other forever.
"""
from importlib.util import find_spec

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import Generic
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

mpi_enabled = find_spec("mpi4py") is not None


def communicator():
    """All processes.

    Raises
    ------
    ImportError
        If mpi4py is not installed.
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError("sending and receiving arrays by MPI needs the package mpi4py, which is not installed"
                          ) from error
    return MPI.COMM_WORLD


class Incoming:
    """A request and the array that it fills. The reference keeps the array alive if a function drops its own values."""

    def __init__(self, request, data):
        self.request, self.data = request, data

    def wait(self):
        self.request.wait()


class MPIRecv(Op):
    """Starts to receive an array; the results are the request and the array, which is complete after `MPIRecvWait`.

    Parameters
    ----------
    source, tag : int
        The rank of the sender, and the number of the message.
    shape : tuple of int
    dtype : str

    Examples
    --------
    >>> T.io.MPIRecv(source=0, tag=11, shape=(2, 3), dtype="float64").shape
    (2, 3)
    """

    __props__ = ("source", "tag", "shape", "dtype")
    is_foldable = False

    def __init__(self, source, tag, shape, dtype):
        self.source, self.tag, self.shape, self.dtype = source, tag, tuple(shape), numpy.dtype(dtype)
        self.broadcastable = (False,) * len(self.shape)

    def make_node(self):
        return Apply(self, [], [Generic()(), TensorType(self.dtype.name, self.broadcastable)()])

    def perform(self, node, inputs, output_storage):
        data = numpy.zeros(self.shape, self.dtype)
        output_storage[0][0] = Incoming(communicator().Irecv(data, self.source, self.tag), data)
        output_storage[1][0] = data

    def infer_shape(self, node, input_shapes):
        return [None, self.shape]


class MPIRecvWait(Op):
    """The array that `MPIRecv` receives, once it is complete.

    Parameters
    ----------
    tag : int

    Examples
    --------
    >>> T.io.MPIRecvWait(tag=11).tag
    11
    """

    __props__ = ("tag",)
    shape_as = 1

    def __init__(self, tag):
        self.tag = tag

    def make_node(self, request, data):
        return Apply(self, [request, data], [TensorType(data.type.dtype, data.type.broadcastable)()])

    def perform(self, node, inputs, output_storage):
        request, _ = inputs
        request.wait()
        output_storage[0][0] = request.data


class MPISend(Op):
    """Starts to send an array; the results are the request and the array.

    Parameters
    ----------
    dest, tag : int
        The rank of the receiver, and the number of the message.

    Examples
    --------
    >>> T.io.MPISend(dest=1, tag=11).dest
    1
    """

    __props__ = ("dest", "tag")
    view_map = {1: [0]}
    is_foldable = False

    def __init__(self, dest, tag):
        self.dest, self.tag = dest, tag

    def make_node(self, data):
        data = as_tensor_variable(data)
        return Apply(self, [data], [Generic()(), data.type()])

    def perform(self, node, inputs, output_storage):
        data, = inputs
        # The request keeps a copy, because a function may reuse the memory of the array for another value.
        output_storage[0][0] = communicator().Isend(numpy.array(data, order="C"), self.dest, self.tag)
        output_storage[1][0] = data

    def infer_shape(self, node, input_shapes):
        return [None, input_shapes[0]]


class MPISendWait(Op):
    """True, once an array has been sent.

    Parameters
    ----------
    tag : int

    Examples
    --------
    >>> T.io.MPISendWait(tag=11).tag
    11
    """

    __props__ = ("tag",)

    def __init__(self, tag):
        self.tag = tag

    def make_node(self, request, data):
        return Apply(self, [request, data], [Generic()()])

    def perform(self, node, inputs, output_storage):
        inputs[0].wait()
        output_storage[0][0] = True


def isend(var, dest, tag):
    """Start to send an array.

    Parameters
    ----------
    var : tensor-like
    dest, tag : int
        The rank of the receiver, and the number of the message.

    Returns
    -------
    list of Variable
        The request, and the array; for `MPISendWait`.

    Examples
    --------
    >>> [variable.type for variable in T.io.isend(T.dvector("x"), dest=1, tag=11)]
    [Generic, TensorType(float64, vector)]
    """
    return MPISend(dest, tag)(var)


def send(var, dest, tag):
    """Send an array; see `isend`. The result is True, once that has been done.

    Examples
    --------
    >>> T.io.send(T.dvector("x"), dest=1, tag=11).type
    Generic
    """
    return MPISendWait(tag)(*isend(var, dest, tag))


def irecv(shape, dtype, source, tag):
    """Start to receive an array.

    Parameters
    ----------
    shape : tuple of int
    dtype : str
    source, tag : int
        The rank of the sender, and the number of the message.

    Returns
    -------
    list of Variable
        The request, and the array; for `MPIRecvWait`.

    Examples
    --------
    >>> [variable.type for variable in T.io.irecv((2, 3), "float64", source=0, tag=11)]
    [Generic, TensorType(float64, matrix)]
    """
    return MPIRecv(source, tag, shape, dtype)()


def recv(shape, dtype, source, tag):
    """Receive an array; see `irecv`. The result is the complete array.

    Examples
    --------
    >>> T.io.recv((2, 3), "float64", source=0, tag=11).type
    TensorType(float64, matrix)
    """
    return MPIRecvWait(tag)(*irecv(shape, dtype, source, tag))


def mpi_send_wait_key(node):
    """A key that sorts waiting for messages late, and sending them early.

    Examples
    --------
    >>> T.io.mpi_send_wait_key(T.exp(T.dvector("x")).owner)
    0
    """
    if isinstance(node.op, (MPIRecvWait, MPISendWait)):
        return 1
    return -1 if isinstance(node.op, (MPIRecv, MPISend)) else 0


def mpi_tag_key(node):
    """A key that sorts messages by their numbers.

    Examples
    --------
    >>> T.io.mpi_tag_key(T.io.recv((2, 3), "float64", source=0, tag=11).owner)
    11
    """
    return node.op.tag if isinstance(node.op, (MPISend, MPIRecv, MPIRecvWait, MPISendWait)) else 0


def compared_by(key):
    """A function that compares nodes by a key: -1, 0 or 1."""
    def compare(a, b):
        """-1, 0 or 1: whether one node is to run before another.

        Examples
        --------
        >>> node = T.exp(T.dvector("x")).owner
        >>> T.io.mpi_tag_cmp(node, node)
        0
        """
        return (key(a) > key(b)) - (key(a) < key(b))
    return compare


mpi_send_wait_cmp, mpi_tag_cmp = compared_by(mpi_send_wait_key), compared_by(mpi_tag_key)
mpi_keys, mpi_cmps = (mpi_send_wait_key, mpi_tag_key), (mpi_send_wait_cmp, mpi_tag_cmp)
