"""Scalar code: the list of inner loops that an elementwise kernel runs, and what builds it.

Scalar ops append to it. It selects each loop's signature for the given operands, inserts casts, shares equal casts and
constants, and numbers the slots as ``ElementwiseKernel`` and ``ReductionKernel`` require: inputs, constants, steps.
It handles dtypes only, neither shapes nor variables. SciPy is imported only when a step needs it.
"""
import importlib

import numpy

from phintys.ops.types.dtypes import CHARACTERS, upcast

DTYPE_OF_CHARACTER = {character: dtype for dtype, character in CHARACTERS.items()}
DTYPE_OF_CHARACTER.update({character: numpy.dtype(character).name for character in "iIlLqQ"})

_ufuncs = {}
_signatures = {}


def ufunc_named(name):
    """A ufunc by its name: ``"exp"`` is NumPy's, ``"scipy.special:erf"`` is imported on first use."""
    ufunc = _ufuncs.get(name)
    if ufunc is None:
        module, _, attribute = name.rpartition(":")
        ufunc = _ufuncs[name] = getattr(importlib.import_module(module) if module else numpy, attribute)
    return ufunc


def loop_signature(name, dtypes):
    """The dtypes of operands and result of the loop of a ufunc that takes operands of ``dtypes``.

    An exact signature is preferred, then the exact one for the common dtype, then the first to which all operands can
    be cast without loss; for float16 the narrowest such.

    Raises
    ------
    TypeError
        If there is no such loop.
    """
    signature = _signatures.get((name, dtypes))
    if signature is None:
        table = _signatures_of(ufunc_named(name))
        common = (upcast(*dtypes),) * len(dtypes)
        for wanted in (dtypes, common):
            signature = signature or next((row for row in table if row[:-1] == wanted), None)
        if signature is None:
            able = [row for row in table if all(map(numpy.can_cast, common, row))]
            if not able:
                raise TypeError(f"{name} has no loop for ({', '.join(dtypes)})")
            # Tables of SciPy begin with float64; float32 is enough for float16, and three times as fast.
            signature = min(able, key=lambda row: numpy.dtype(row[-1]).itemsize) if "float16" in common else able[0]
        _signatures[name, dtypes] = signature
    return signature


def _signatures_of(ufunc):
    """The signatures of a ufunc, except those on objects, dates and long doubles."""
    table = []
    for row in ufunc.types:
        characters = row.replace("->", "")
        if all(character in DTYPE_OF_CHARACTER for character in characters):
            table.append(tuple([DTYPE_OF_CHARACTER[character] for character in characters]))
    return table


class CodeBuilder:
    """Builds steps over inputs of ``input_dtypes``.

    Attributes
    ----------
    dtypes : list of str
        The dtype of every slot. While steps are appended, slots are numbered in the order in which they appear.
    """

    def __init__(self, input_dtypes):
        self.dtypes = list(input_dtypes)
        self.inputs = len(self.dtypes)
        self._constants = {}        # slot → 0-d array
        self._steps = {}            # slot → (loop, operand slots, dtypes)
        self._known = {}            # description of a slot's computation → slot

    def constant(self, value, dtype):
        """The slot of a constant."""
        array = numpy.asarray(value, dtype=dtype)
        key = ("constant", dtype, array.tobytes())
        return self._slot(key, dtype, self._constants, array)

    def cast(self, slot, dtype):
        """The slot of ``slot`` converted to ``dtype``; the same slot if it already has that dtype."""
        if self.dtypes[slot] == dtype:
            return slot
        if slot in self._constants:
            return self.constant(self._constants[slot].astype(dtype), dtype)
        return self._append("cast", (slot,), (self.dtypes[slot], dtype))

    def apply(self, name, *slots):
        """The slot of a ufunc's result; operands are cast to the best matching signature."""
        signature = loop_signature(name, tuple([self.dtypes[slot] for slot in slots]))
        operands = tuple([self.cast(slot, dtype) for slot, dtype in zip(slots, signature)])
        return self._append(ufunc_named(name), operands, signature)

    def apply_own(self, name, result_dtype, *slots):
        """The slot of the result of a built-in loop; operands must have the dtypes that the loop takes."""
        return self._append(name, slots, tuple([self.dtypes[slot] for slot in slots]) + (result_dtype,))

    def _append(self, loop, slots, dtypes):
        return self._slot((loop, slots, dtypes), dtypes[-1], self._steps, (loop, slots, dtypes))

    def _slot(self, key, dtype, where, content):
        slot = self._known.get(key)
        if slot is None:
            slot = self._known[key] = len(self.dtypes)
            self.dtypes.append(dtype)
            where[slot] = content
        return slot

    def finish(self, outputs):
        """The arguments of a kernel.

        Parameters
        ----------
        outputs : list of int
            The slots of the results.

        Returns
        -------
        constants : list of numpy.ndarray
        steps : list of (ufunc or str, tuple of int, tuple of str)
        outputs : list of int
        """
        number = list(range(self.inputs)) + [0] * (len(self.dtypes) - self.inputs)
        for position, slot in enumerate([*self._constants, *self._steps]):
            number[slot] = self.inputs + position
        steps = [(loop, tuple([number[slot] for slot in slots]), dtypes) for loop, slots,
                 dtypes in self._steps.values()]
        return list(self._constants.values()), steps, [number[slot] for slot in outputs]
