"""Functions for classifiers: the confusion matrix, the two-level softmax and the multi-class hinge loss."""
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise.elementwise_functions import eq, switch
from phintys.ops.elementwise.scalar import as_dtype, sigmoid
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.nnet.activations import relu
from phintys.ops.nnet.softmax import softmax
from phintys.ops.products.products import batched_dot, dot, tensordot
from phintys.ops.reduction.reduction import max as max_over
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.searching import Unique
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, upcast


def confusion_matrix(actual, pred):
    """Count how often each class was predicted for each actual class.

    Parameters
    ----------
    actual, pred : vector
        Vectors of equal length.

    Returns
    -------
    list
        The matrix, of dtype int64, with one row for each actual class and one column for each predicted class; and the
        sorted classes, in the order of the rows and columns.

    Raises
    ------
    ValueError
        If an argument is not a vector.

    Examples
    --------
    >>> counts, labels = T.nnet.confusion_matrix(T.as_tensor([0, 1, 1]), T.as_tensor([0, 1, 0]))
    >>> counts.eval(), labels.eval()
    (array([[1, 0],
           [1, 1]]), array([0, 1]))
    """
    actual, pred = as_tensor_variable(actual), as_tensor_variable(pred)
    for name, value in (("actual", actual), ("pred", pred)):
        if value.type.ndim != 1:
            raise ValueError(f"{name} must be 1-d tensor variable, not {value.type}")
    order, positions = Unique(return_inverse=True)(concatenate([actual, pred]))
    classes, length = shape_i(order, 0), shape_i(actual, 0)
    counted = zeros((classes * classes,), dtype="int64")[positions[:length] * classes + positions[length:]]
    return [inc_subtensor(counted, 1).reshape((classes, classes)), order]


def h_softmax(x, batch_size, n_outputs, n_classes, n_outputs_per_class, W1, b1, W2, b2, target=None):
    """A two-level softmax (Goodman 2001): over classes, and within each class over its outputs.

    Output k belongs to class ``k // n_outputs_per_class``. For given targets, only their classes are computed, which
    takes on the order of sqrt(n) operations per row for n outputs.

    Parameters
    ----------
    x : matrix
        Has one row for each example.
    batch_size, n_outputs, n_classes, n_outputs_per_class : int
        ``n_classes * n_outputs_per_class`` may be larger than ``n_outputs``.
    W1, b1 : matrix (features, classes), vector (classes)
        Weights and bias of the softmax over classes.
    W2, b2 : tensor (classes, features, outputs of a class), matrix (classes, outputs of a class)
        Weights and biases of the softmaxes within the classes.
    target : vector or column of integers, optional
        The output of each row whose probability to return.

    Returns
    -------
    TensorVariable
        Probabilities of all outputs, (batch_size, n_outputs), or of the targets, (batch_size,).

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0]])                                           # one row of two features
    >>> w1, b1 = numpy.zeros((2, 2)), numpy.zeros(2)                            # two classes at the first level
    >>> w2, b2 = numpy.zeros((2, 2, 3)), numpy.zeros((2, 3))                    # and three below each of them
    >>> T.nnet.h_softmax(x, 1, 6, 2, 3, w1, b1, w2, b2, T.as_tensor([4])).eval()
    array([0.16666667])
    """
    x, W2, b2 = as_tensor_variable(x), as_tensor_variable(W2), as_tensor_variable(b2)
    class_probs = softmax(dot(x, W1) + b1)
    if target is None:
        activations = tensordot(x, W2, (1, 1)) + b2
        inside = softmax(activations.reshape((-1, n_outputs_per_class))).reshape((batch_size, n_classes, -1))
        return (dimshuffle(class_probs, 0, 1, "x") * inside).reshape((batch_size, -1))[:, :n_outputs]
    target = as_tensor_variable(target).flatten()
    classes, positions = target // n_outputs_per_class, target % n_outputs_per_class
    rows = arange(batch_size)
    inside = softmax(batched_dot(x, W2[classes]) + b2[classes])
    return class_probs[rows, classes] * inside[rows, positions]


def multiclass_hinge_loss(predictions, targets, delta=1):
    """The multi-class hinge loss of each row.

    The loss is ``max(0, max of the wrong predictions - the right prediction + delta)``, as in Weston and Watkins 1998.

    Parameters
    ----------
    predictions : matrix of floats
        Has one row for each example and one column for each class.
    targets : vector of integers, or matrix
        The right class of each row; or a matrix with 1 for the right class and 0 for the others.
    delta : scalar
        The margin.

    Returns
    -------
    TensorVariable
        A vector.

    Raises
    ------
    TypeError
        If targets have another rank, or labels are not integers, or ``delta`` is no scalar.
    ValueError, IndexError
        At run time, if there is not a label for each row, and for a label that is not a valid class.

    Examples
    --------
    >>> T.nnet.multiclass_hinge_loss(T.as_tensor([[2.0, 1.5], [0.0, 3.0]]), T.as_tensor([0, 1])).eval()
    array([0.5, 0. ])
    """
    predictions, targets, delta = map(as_tensor_variable, (predictions, targets, delta))
    if predictions.type.ndim != 2 or targets.type.ndim not in (1, 2):
        raise TypeError(f"rank mismatch between targets and predictions: {targets.type} and {predictions.type}")
    if delta.type.ndim:
        raise TypeError(f"delta must be a scalar, got {delta.type}")
    if targets.type.ndim == 1:
        if targets.type.dtype not in discrete_dtypes:
            raise TypeError(f"labels must be integers, got {targets.type}")
        dtype, = sigmoid.output_dtypes((upcast(predictions.type.dtype, delta.type.dtype),))
        predictions, delta = as_dtype(predictions, dtype), as_dtype(delta, dtype)
        targets = as_dtype(targets, "uint8") if targets.type.dtype == "bool" else targets       # a label, no mask
        targets = EqualLengths.of(targets, [[(targets, 0), (predictions, 0)]])
        right = predictions[arange(shape_i(predictions, 0)), targets]
        margins = _margins(predictions, right, delta)
        margins = set_subtensor(margins[arange(shape_i(predictions, 0)), targets], 0)
    else:
        wanted = eq(targets, 1)
        margins = switch(wanted, 0, _margins(predictions, sum_over(switch(wanted, predictions, 0), axis=1), delta))
    return relu(max_over(margins, axis=1))


def _margins(predictions, right, delta):
    """What the hinge loss is the maximum of in each row: no infinities, which modes for debugging would report."""
    return predictions - dimshuffle(right, [0, "x"]) + delta
