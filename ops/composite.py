"""Composite: several scalar ops in one, the result of elementwise fusion.

It is a flat list of steps over slots: inputs, then constants, then the result of each step. dtypes are fixed when it is
made. It is no expression tree, so it may be thousands of steps long and share results freely; two Composites are equal
when their lists are.
"""
import numpy

from phintys.ops.scalar_op import ScalarOp

LONGEST_INLINE_TEXT = 120       # characters; longer parts of a printed Composite get a name of their own


class Composite(ScalarOp):
    """Scalar ops applied one after another.

    Parameters
    ----------
    input_dtypes : sequence of str
    steps : sequence of (ScalarOp, sequence of int)
        The op and the slots of its operands; a step's result is the next slot. Ops have one output.
    outputs : sequence of int
        Slots of the results.
    constants : sequence of numpy.ndarray
        0-d arrays; their slots follow the inputs' slots.

    Raises
    ------
    TypeError
        If an op refuses the dtypes of its operands.
    ValueError
        If a slot does not exist yet where it is used.
    """

    def __init__(self, input_dtypes, steps, outputs, constants=()):
        self.input_dtypes = tuple(input_dtypes)
        self.constants = tuple([numpy.asarray(constant) for constant in constants])
        self.steps = tuple([(scalar_op, tuple(slots)) for scalar_op, slots in steps])
        self.outputs = tuple(outputs)
        super().__init__("Composite", len(self.input_dtypes), None, None)
        self.nout = len(self.outputs)
        self.slot_dtypes = self._slot_dtypes()
        self._key = (self.input_dtypes, self.steps, self.outputs,
                     tuple([(constant.dtype.name, constant.tobytes()) for constant in self.constants]),
                     self.slot_dtypes)
        self._hash = hash(self._key)
        self._text = None

    def _slot_dtypes(self):
        dtypes = list(self.input_dtypes) + [constant.dtype.name for constant in self.constants]
        for scalar_op, slots in self.steps:
            if not all(0 <= slot < len(dtypes) for slot in slots):
                raise ValueError(f"Step {scalar_op} of a Composite reads slots {slots}, but there are only "
                                 f"{len(dtypes)}.")
            dtypes += scalar_op.output_dtypes(tuple([dtypes[slot] for slot in slots]))
        if not all(0 <= slot < len(dtypes) for slot in self.outputs):
            raise ValueError(f"A Composite has outputs {self.outputs}, but only {len(dtypes)} slots.")
        return tuple(dtypes)

    def __eq__(self, other):
        return self is other or (type(other) is Composite and self._hash == other._hash and self._key == other._key)

    def __hash__(self):
        return self._hash

    def __reduce__(self):
        return Composite, (self.input_dtypes, self.steps, self.outputs, self.constants)

    @property
    def elementwise(self):
        if self._elementwise is None:
            self._elementwise = self.elementwise_class(self)
        return self._elementwise

    def output_dtypes(self, dtypes):
        if tuple(dtypes) != self.input_dtypes:
            raise TypeError(f"This Composite is made for operands of dtypes {self.input_dtypes}, got {tuple(dtypes)}.")
        return tuple([self.slot_dtypes[slot] for slot in self.outputs])

    def emit(self, steps, output_dtypes, slots):
        slots = list(slots) + [steps.constant(constant, constant.dtype.name) for constant in self.constants]
        for scalar_op, operands in self.steps:
            slots += scalar_op.emit(steps, (self.slot_dtypes[len(slots)],), [slots[operand] for operand in operands])
        return [slots[output] for output in self.outputs]

    def gradients(self, inputs, outputs, output_gradients):
        raise NotImplementedError("Composites are made after gradients; take the gradient of the original graph.")

    def __str__(self):
        """``Composite{((i0 + i1) * i1)}``; what is used twice or is long gets a name: ``{(t0 * t0), t0=...}``."""
        if self._text is None:
            self._text = f"Composite{{{', '.join(self._parts())}}}"
        return self._text

    __repr__ = __str__

    def _parts(self):
        texts = [f"i{position}" for position in range(len(self.input_dtypes))]
        texts += [str(constant) for constant in self.constants]
        readers = [0] * len(self.slot_dtypes)
        for slots in [self.outputs, *[slots for _, slots in self.steps]]:
            for slot in slots:
                readers[slot] += 1
        named = []
        for scalar_op, slots in self.steps:
            text = scalar_op.expression([texts[slot] for slot in slots])
            if readers[len(texts)] > 1 or (len(text) > LONGEST_INLINE_TEXT and len(texts) not in self.outputs):
                named.append(f"t{len(named)}={text}")
                text = f"t{len(named) - 1}"
            texts.append(text)
        return [texts[slot] for slot in self.outputs] + named
