"""``transfer``: moves a variable to another device; packages that support devices register functions for it.

The only built-in target is ``"cpu"``, where all tensors are.
"""
from phintys.ops.types.constant import as_tensor_variable

__all__ = ["register_transfer", "transfer"]

_registered = []                # functions (variable, target) → variable or None


def transfer(var, target):
    """Transfer ``var`` to a device.

    Parameters
    ----------
    var : Variable
    target : str
        ``"cpu"``, or a target of a registered function.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If no registered function supports the target.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.transfer(x, "cpu") is x
    True
    """
    if target == "cpu":
        return as_tensor_variable(var)
    for function in _registered:
        result = function(var, target)
        if result is not None:
            return result
    raise ValueError(f"Can't transfer to target {target}: no function is registered for it")


def register_transfer(fn):
    """Register ``fn`` as a function that transfers variables.

    Parameters
    ----------
    fn : callable
        Takes a variable and a target; returns the variable on the target, or None if it does not support the target.

    Examples
    --------
    >>> def to_elsewhere(x, target):
    ...     return T.tensor_copy(x) if target == "elsewhere" else None
    >>> T.register_transfer(to_elsewhere)
    >>> T.transfer(T.as_tensor([1.0, 2.0]), "elsewhere").eval()
    array([1., 2.])
    """
    _registered.append(fn)
