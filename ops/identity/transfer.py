"""``transfer``: a variable as one of another device; packages that know devices register how.

The only target known here is ``"cpu"``, where every tensor is.
"""
from phintys.ops.types.constant import as_tensor_variable

__all__ = ["register_transfer", "transfer"]

_registered = []                # functions (variable, target) → variable or None


def transfer(var, target):
    """``var`` on a device.

    Parameters
    ----------
    var : Variable
    target : str
        ``"cpu"``, or what a registered function knows.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If nobody knows the target.
    """
    if target == "cpu":
        return as_tensor_variable(var)
    for function in _registered:
        result = function(var, target)
        if result is not None:
            return result
    raise ValueError(f"Can't transfer to target {target}: nobody has registered it")


def register_transfer(fn):
    """Let ``fn`` transfer variables.

    Parameters
    ----------
    fn : callable
        From a variable and a target to the variable there, or None if it does not know the target.
    """
    _registered.append(fn)
