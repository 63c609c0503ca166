"""LoadFromDisk: reads an array from a ``.npy`` file each time the graph runs.

The path is an input of the node. The array in the file must have the declared type; it is not converted. The optimizer
never reads the file in advance, because it may change between calls.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import generic
from phintys.graph.variable import Constant
from phintys.ops.types.tensor_type import TensorType


class LoadFromDisk(Op):
    """Read an array of a known dtype and broadcastable pattern.

    Parameters
    ----------
    dtype : str
    broadcastable : tuple of bool
    mmap_mode : {None, 'c'}
        'c' maps the file into memory, so that only the parts that are accessed are read; the result of a function is
        then a ``numpy.memmap``. Changes of the array are not written to the file.

    Raises
    ------
    ValueError
        For another ``mmap_mode``; at run time, if the path is that of an ``.npz`` file.
    TypeError
        At run time, if the array in the file has another dtype or rank, or a length other than 1 in a broadcastable
        dimension.

    Examples
    --------
    >>> T.LoadFromDisk("float64", (False,)).dtype
    dtype('float64')
    """

    __props__ = ("dtype", "broadcastable", "mmap_mode")
    gives_memory = (0,)
    depends_on = ()
    is_foldable = False

    def __init__(self, dtype, broadcastable, mmap_mode=None):
        if mmap_mode not in (None, "c"):
            raise ValueError(f"The only supported values for mmap_mode are None and 'c', got {mmap_mode!r}")
        self.dtype = numpy.dtype(dtype)
        self.broadcastable = tuple(broadcastable)
        self.mmap_mode = mmap_mode

    def make_node(self, path):
        if isinstance(path, str):
            path = Constant(generic, path)
        return Apply(self, [path], [TensorType(self.dtype.name, self.broadcastable)()])

    def perform(self, node, inputs, output_storage):
        path, = inputs
        if path.endswith(".npz"):
            raise ValueError(f"Expected a .npy file, got {path} instead")
        value = numpy.load(path, mmap_mode=self.mmap_mode)
        if value.dtype != self.dtype:
            raise TypeError(f"{path}: Expected an array of type {self.dtype}, got {value.dtype} instead")
        node.outputs[0].type.filter(value, strict=True)
        output_storage[0][0] = value

    def __str__(self):
        return f"Load{{dtype: {self.dtype}, broadcastable: {self.broadcastable}, mmap_mode: {self.mmap_mode}}}"


def load(path, dtype, broadcastable, mmap_mode=None):
    """The array in a ``.npy`` file, which is read when a function is called.

    Parameters
    ----------
    path : Variable of type ``generic``, or str
    dtype : str
        The dtype of the array in the file.
    broadcastable : tuple of bool
    mmap_mode : {None, 'c'}
        'c' maps the file into memory instead of reading all of it.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        For another ``mmap_mode``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     numpy.save(file.name, numpy.array([1.5, 2.5]))
    ...     print((2 * T.load(file.name, "float64", (False,))).eval())
    [3. 5.]
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)
