"""Scalar code: what kernels compute from each element, as a list of inner loops; and what builds it.

Elementwise, reduction, draw and convolution kernels take a ``ScalarCode``, and so do their forms for a device: it says
how a scalar op is computed, where ``Composite`` says what. Back ends run it over blocks (``block_code.pyx``), in a
machine with registers (``register_code.pyx``), or write it as CUDA text (``gpu/kernels/scalar_source.py``). It knows
dtypes, but no shapes, addresses or registers. SciPy is imported only when a step needs it.
"""
import importlib

import numpy

from phintys.ops.types.dtypes import CHARACTERS, DTYPE_NAMES, upcast
from phintys.vm.kernel_spec import spec_of

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


def loop_name(loop):
    """The name of a loop: of a ufunc, a built-in loop, or an ``InnerLoop``."""
    return loop if isinstance(loop, str) else getattr(loop, "name", None) or loop.__name__


class ScalarCode:
    """Steps on one element of each input. It does not change.

    Every value has a slot, which is written once: the inputs come first, then the constants, then the steps.

    Parameters
    ----------
    input_dtypes : sequence of str
    constants : sequence of numpy.ndarray
        0-d arrays.
    steps : sequence of (loop, operands, dtypes)
        A ufunc, the name of a built-in loop or an ``InnerLoop``; the slots of its operands, which come before its own;
        the dtypes of operands and, last, of the result.
    outputs : sequence of int
        The slots of the results.

    Attributes
    ----------
    dtypes : tuple of str
        Of all slots.
    first_step : int
        The slot of the first step.

    Raises
    ------
    TypeError
        If an operand does not have the dtype given in its step.
    ValueError
        If a slot does not exist.
    """
    __slots__ = "input_dtypes", "constants", "steps", "outputs", "first_step", "dtypes"

    def __init__(self, input_dtypes, constants=(), steps=(), outputs=()):
        self.input_dtypes, self.constants, self.outputs = tuple(input_dtypes), tuple(constants), tuple(outputs)
        self.steps = tuple([(loop, tuple(operands), tuple(dtypes)) for loop, operands, dtypes in steps])
        self.first_step = len(self.input_dtypes) + len(self.constants)
        dtypes = dict(enumerate(self.input_dtypes))
        for constant in self.constants:
            dtypes[len(dtypes)] = DTYPE_NAMES.get(constant.dtype.num)
        for step in self.steps:
            _, operands, signature = step
            if tuple([dtypes.get(operand) for operand in operands]) != signature[:-1]:
                _refuse(step, dtypes)
            dtypes[len(dtypes)] = signature[-1]
        for slot in self.outputs:
            if slot not in dtypes:
                raise ValueError(f"slot {slot} does not exist; there are {len(dtypes)}")
        self.dtypes = tuple(dtypes.values())

    @property
    def spec(self):
        """The code as plain data, as part of the spec of a kernel."""
        return spec_of(ScalarCode, (self.input_dtypes, self.constants, self.steps, self.outputs), None)

    def constant(self, slot):
        """The value of a slot that is a constant, else None."""
        position = slot - len(self.input_dtypes)
        return self.constants[position] if 0 <= position < len(self.constants) else None

    def by_slot(self):
        """(slot → constant, slot → step)"""
        return (dict(enumerate(self.constants, len(self.input_dtypes))), dict(enumerate(self.steps, self.first_step)))

    @property
    def last_reader(self):
        """For each slot, the slot of the last step that reads it; -1: there is none."""
        last = [-1] * len(self.dtypes)
        for slot, (_, operands, _) in enumerate(self.steps, self.first_step):
            for operand in operands:
                last[operand] = slot
        return last

    def readers(self, slot):
        """The slots of the steps that read a slot."""
        return [reader for reader, (_, operands, _) in enumerate(self.steps, self.first_step) if slot in operands]

    def with_outputs(self, outputs):
        """The same with other results."""
        return ScalarCode(self.input_dtypes, self.constants, self.steps, outputs)

    def live(self):
        """What the results depend on, and all inputs."""
        return numbered(self.input_dtypes, *self.by_slot(), self.outputs)

    @property
    def listing(self):
        """One line for each constant, step and result."""
        constants, steps = self.by_slot()
        return [*[f"s{slot} := {value} {value.dtype}" for slot, value in constants.items()],
                *[f"s{slot} := {loop_name(loop)} {dtypes[-1]}({', '.join([f's{operand}' for operand in operands])})"
                  for slot, (loop, operands, dtypes) in steps.items()],
                f"results {', '.join([f's{slot}' for slot in self.outputs])}"]

    def __repr__(self):
        return f"<ScalarCode {'; '.join(self.listing)}>"


def _refuse(step, dtypes):
    """Raise the error for a step that does not fit the dtypes of the slots before it."""
    loop, operands, signature = step
    if len(signature) != len(operands) + 1:
        raise TypeError(f"{loop_name(loop)} takes {len(signature) - 1} operands, not {len(operands)}")
    for operand, dtype in zip(operands, signature):
        if operand not in dtypes:
            raise ValueError(f"{loop_name(loop)} reads slot {operand}; there are {len(dtypes)} before it")
        if dtypes[operand] != dtype:
            raise TypeError(f"{loop_name(loop)} requires {dtype}, but slot {operand} is {dtypes[operand]}")


def numbered(input_dtypes, constants, steps, outputs):
    """The code of {key: constant} and {key: step}, where keys are any but those of the inputs: 0, 1, and so on; without
    what no result depends on."""
    wanted = set(outputs)
    for key in reversed(steps):
        if key in wanted:
            wanted.update(steps[key][1])
    constants = {key: value for key, value in constants.items() if key in wanted}
    steps = {key: step for key, step in steps.items() if key in wanted}
    number = {key: slot for slot, key in enumerate([*range(len(input_dtypes)), *constants, *steps])}
    return ScalarCode(input_dtypes, constants.values(),
                      [(loop, [number[operand] for operand in operands], dtypes)
                       for loop, operands, dtypes in steps.values()], [number[key] for key in outputs])


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

    def join(self, code, slots):
        """Append a whole code whose inputs are in these slots; returns the slots of its results."""
        slot_of = [*slots, *map(self.constant, code.constants, code.dtypes[len(code.input_dtypes):])]
        for loop, operands, dtypes in code.steps:
            slot_of.append(self._append(loop, tuple([slot_of[operand] for operand in operands]), dtypes))
        return [slot_of[slot] for slot in code.outputs]

    def finish(self, outputs):
        """The ``ScalarCode`` with these slots as results."""
        return numbered(self.dtypes[:self.inputs], self._constants, self._steps, outputs)
