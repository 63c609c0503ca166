"""Connectionist temporal classification by Baidu's library warp-ctc, which must be installed.

The library is loaded at the first use: ``libwarpctc.so`` in a folder of ``config.ctc.root``, or where the system finds
libraries. It computes the costs of a batch, and in the same pass their gradients by the activations.
"""
import ctypes
import ctypes.util
from functools import cache
from pathlib import Path

import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.ops.shape.contiguous import cpu_contiguous
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

FOLDERS = ("build", "lib", "lib64")


class _Options(ctypes.Structure):
    """The library's ``ctcOptions``; the number of threads shares its position with the pointer to a stream."""
    _fields_ = [("location", ctypes.c_int), ("threads", ctypes.c_void_p), ("blank", ctypes.c_int)]


@cache
def _loaded(root):
    """The library, or the reason why there is none."""
    found = [str(path) for folder in FOLDERS if root and (path := Path(root) / folder / "libwarpctc.so").exists()]
    name = found[0] if found else ctypes.util.find_library("warpctc")
    if name is None:
        where = f"in {', '.join(FOLDERS)} of config.ctc.root = {root!r}" if root else "by the system"
        return None, f"libwarpctc.so is not found {where}; set config.ctc.root to the folder of warp-ctc"
    try:
        library = ctypes.CDLL(name)
        library.ctcGetStatusString.restype = ctypes.c_char_p
        library.get_workspace_size.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_int, _Options,
                                               ctypes.POINTER(ctypes.c_size_t)]
        library.compute_ctc_loss.argtypes = [*[ctypes.c_void_p] * 5, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                             ctypes.c_void_p, _Options]
    except (OSError, AttributeError) as error:
        return None, f"{name} cannot be used as warp-ctc: {error}"
    return library, None


def ctc_present():
    """Whether the library can be loaded; if not, ``ctc_present.msg`` has the reason.

    Examples
    --------
    >>> T.nnet.ctc.ctc_present() in (True, False)
    True
    """
    library, ctc_present.msg = _loaded(config.ctc.root)
    return library is not None


def ctc_available():
    """Whether losses can be computed; if not, ``ctc_available.msg`` has the reason.

    Examples
    --------
    >>> T.nnet.ctc.ctc_available() in (True, False)
    True
    """
    present = ctc_present()
    ctc_available.msg = ctc_present.msg
    return present


ctc_present.msg = ctc_available.msg = None


class ConnectionistTemporalClassification(Op):
    """The costs of a batch, and the gradients by the activations. The inputs are activations (steps, examples,
    symbols) in float32, labels (examples, longest label) and lengths (examples) in int32. The default output is the
    first one.

    Parameters
    ----------
    compute_grad : bool
        Whether there is the second output.
    openmp : bool, optional
        Ignored.

    Raises
    ------
    RuntimeError
        If the library warp-ctc is not installed.

    Examples
    --------
    >>> if T.nnet.ctc.ctc_available():                      # T.nnet.ctc.ctc needs no library
    ...     op = T.nnet.ctc.ConnectionistTemporalClassification()
    """

    __props__ = ("compute_grad",)
    default_output = 0

    def __init__(self, compute_grad=True, openmp=None):
        if not ctc_available():
            raise RuntimeError("Baidu CTC is not available and ConnectionistTemporalClassification Op can not be "
                               f"constructed: {ctc_available.msg}")
        self.compute_grad = compute_grad

    def make_node(self, activations, labels, input_lengths):
        activations = cpu_contiguous(as_tensor_variable(activations))
        labels, input_lengths = as_tensor_variable(labels), as_tensor_variable(input_lengths)
        for name, variable, dtype, rank in (("activations", activations, "float32", 3), ("labels", labels, "int32", 2),
                                            ("input_lengths", input_lengths, "int32", 1)):
            if variable.type.dtype != dtype:
                raise TypeError(f"{name} must use the {dtype} type! Got {variable} of type {variable.type}")
            if variable.type.ndim != rank:
                raise ValueError(f"{name} must have {rank} dimension{'s' * (rank > 1)}. Got {variable} of type "
                                 f"{variable.type}")
        outputs = [TensorType("float32", (False,))(name="ctc_cost")]
        if self.compute_grad:
            outputs.append(TensorType("float32", (False,) * 3)(name="ctc_grad"))
        return Apply(self, [activations, labels, input_lengths], outputs)

    def perform(self, node, inputs, output_storage, params=None):
        activations, labels, lengths = map(numpy.ascontiguousarray, inputs)
        steps, examples, symbols = activations.shape
        if len(labels) != examples or len(lengths) != examples:
            raise ValueError(f"ctc: the activations are those of {examples} examples, but there are {len(labels)} rows "
                             f"of labels and {len(lengths)} lengths")
        if examples and not 0 <= lengths.min() <= lengths.max() <= steps:
            raise ValueError(f"ctc: the activations have {steps} steps, got lengths {lengths}")
        if labels.size and labels.max() >= symbols:
            raise ValueError(f"ctc: there are {symbols} symbols, got label {labels.max()}")
        costs = numpy.empty(examples, "float32")
        gradients = numpy.zeros_like(activations) if self.compute_grad else None
        _compute(activations, labels, lengths, costs, gradients)
        output_storage[0][0] = costs
        if self.compute_grad:
            output_storage[1][0] = gradients

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][1],), *[input_shapes[0]] * self.compute_grad]

    def L_op(self, inputs, outputs, output_grads):
        if not self.compute_grad:
            raise ValueError(f"{self} was made without gradients")
        by_activations = outputs[1] * dimshuffle(output_grads[0], "x", 0, "x")
        return [by_activations, grad_undefined(self, 1, inputs[1]), grad_undefined(self, 2, inputs[2])]


def _compute(activations, labels, lengths, costs, gradients):
    """Call the library, without the GIL. Labels below 0 are padding."""
    library, _ = _loaded(config.ctc.root)
    flat = numpy.ascontiguousarray(labels[labels >= 0])
    label_lengths = (labels >= 0).sum(axis=1).astype("int32")
    options = _Options(0, 1, 0)
    _, examples, symbols = activations.shape
    size = ctypes.c_size_t()
    _check(library, library.get_workspace_size(label_lengths.ctypes.data, lengths.ctypes.data, symbols, examples,
                                               options, ctypes.byref(size)))
    workspace = numpy.empty(size.value, "uint8")
    _check(library, library.compute_ctc_loss(
        activations.ctypes.data, None if gradients is None else gradients.ctypes.data, flat.ctypes.data,
        label_lengths.ctypes.data, lengths.ctypes.data, symbols, examples, costs.ctypes.data, workspace.ctypes.data,
        options))


def _check(library, status):
    if status:
        raise RuntimeError("ConnectionistTemporalClassification: CTC error: "
                           f"{library.ctcGetStatusString(status).decode()}")


def ctc(activations, labels, input_lengths):
    """The loss of connectionist temporal classification, computed by the library warp-ctc.

    Parameters
    ----------
    activations : 3-D tensor of float32
        (steps, examples, symbols); symbol 0 is the blank.
    labels : matrix of int32
        A row for each example; negative numbers are padding.
    input_lengths : vector of int32
        How many steps each example has.

    Returns
    -------
    Variable
        A vector with the cost of each example.

    Raises
    ------
    RuntimeError
        If the library is not installed.
    TypeError, ValueError
        For inputs of other dtypes or ranks; at run time for shapes that do not fit together.

    Examples
    --------
    >>> T.nnet.ctc.ctc_available() or T.nnet.ctc.ctc_available.msg is not None
    True
    """
    return ConnectionistTemporalClassification()(activations, labels, input_lengths)
