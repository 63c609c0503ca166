"""The checks of one node: its kernel, its ``perform``, and what its op declares about memory and shapes.

A `CheckedNode` is built once per node and run at every call. It runs on copies, so none of its input values changes.
The kernel's first run gives the value that all other results are compared with. Before it, the outputs' memory is
filled with NaN or the largest number, before the second run with another value, so that unwritten elements are
detected.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from phintys.debugging.debug_claims import bound_by, read_by_prepare
from phintys.debugging.debug_differences import agree, at_host, copied, identical, is_finite
from phintys.debugging.debug_errors import (
    BadDestroyMap,
    BadExamined,
    BadThunkOutput,
    BadViewMap,
    InvalidValueError,
    NondeterministicOp,
    UnwrittenOutput,
)
from phintys.debugging.debug_layouts import blank, laid_out, repeated
from phintys.debugging.debug_shapes import ShapeRule
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.op import Op, check_computable
from phintys.graph.thunks import compute
from phintys.vm.abi import run_kernel
from phintys.vm.places import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import ClientsOf
    from phintys.graph.variable import Variable
    from phintys.modes import Mode

POISONS = 0xFF, 0x7F           # NaN, -1 and 255; a huge number: no sum, product or maximum of both is equal
KERNEL, PERFORM = "the kernel", "perform"
EFFORT = 10000                 # limit of steps when interleaved views are checked for a common element
MUTABLE = list, dict, set, numpy.random.RandomState, numpy.random.Generator


class CheckedNode:
    """A node and everything that checking it needs.

    Parameters
    ----------
    node : Apply
    mode : DebugMode
        The checks to make.
    around : collection of Apply
        The nodes of the graph that the node belongs to.
    readers : dict or None
        Variable → its readers; given if outputs that are both read must not share memory.

    Raises
    ------
    MethodNotDefined
        If the op has neither a kernel nor a ``perform``.
    """

    def __init__(self, node: Apply, mode: Mode, around: set[Apply] = (), readers: ClientsOf | None = None) -> None:
        op = node.op
        self.node, self.mode, self.readers = node, mode, readers or {}
        self.kernel = op.make_kernel(node)
        self.performs = op.computes_by_thunk or getattr(op.perform, "__func__", op.perform) is not Op.perform
        if self.kernel is None:
            check_computable(node)
        if self.kernel is not None and self.performs:
            self.performs = mode.check_py_code
            if not mode.check_c_code:
                self.kernel = None
        self.layouts = [variable.type.layout for variable in node.outputs]
        self.at_device = any([(variable.type.layout or (0, 0, HOST))[2] != HOST
                              for variable in (*node.inputs, *node.outputs)])
        self.destroyed = {position for positions in op.destroy_map.values() for position in positions}
        self.shapes = ShapeRule(node, around)

    def run(self, inputs: Sequence[numpy.ndarray], known: Mapping[Variable, numpy.ndarray],
            finite: bool = True) -> list[numpy.ndarray]:
        """Check the node on values.

        Parameters
        ----------
        inputs : list
            Values; they are not changed.
        known : dict
            Variable → value, for what was computed before in the surrounding graph.
        finite : bool
            Whether outputs must be finite, if the mode requires it.

        Returns
        -------
        list
            The values of the outputs, which share no memory with the inputs.

        Raises
        ------
        DebugModeError
            The class says what is wrong.
        """
        outputs = None
        if self.at_device:
            return self._check_at_device(inputs)
        if self.kernel is not None:
            outputs = self._check_kernel(inputs)
        if self.performs:
            outputs = self._check_perform(inputs, outputs)
        if finite and self.mode.check_isfinite:
            for variable, value in zip(self.node.outputs, outputs):
                if not is_finite(value) and getattr(variable.tag, "nan_guard_mode_check", True):
                    raise InvalidValueError(variable, value, hint="not finite", specific_hint="it holds NaN or "
                                            "infinities; DebugMode(check_isfinite=False) accepts them")
        self.shapes.check(inputs, outputs, known)
        return outputs

    # ---- kernels of a device -----------------------------------------------------------------------------------------
    def _check_at_device(self, inputs):
        """Check that two runs on the device agree, and that they agree with the host."""
        outputs, again = self._run_kernel(inputs, None), self._run_kernel(inputs, None)
        self._compare([at_host(value) for value in outputs], KERNEL, [at_host(value) for value in again],
                      f"{KERNEL}, again", inputs, NondeterministicOp)
        results_at_host = getattr(self.node.op, "perform_at_host", None)
        expected = results_at_host and results_at_host(self.node, [at_host(value) for value in inputs])
        if expected is not None:
            self._compare([at_host(value) for value in outputs], KERNEL, expected, "the host", inputs)
        return [copied(value) for value in outputs]

    # ---- kernels -----------------------------------------------------------------------------------------------------
    def _check_kernel(self, inputs):
        given = self._copies(inputs)
        outputs = self._accepted(self._run_kernel(given, views=True), KERNEL)
        self._check_inputs(inputs, given, KERNEL)
        self._check_views(given, outputs)
        self._check_writing(given, outputs)
        for name in ("strided", "reversed", "f_contiguous"):
            if name != "f_contiguous" or any([value.ndim > 1 for value in inputs]):
                self._check_layout(name, inputs, outputs)
        self._check_zero_strides(inputs)
        self._check_examined(inputs)
        for name in ("c_contiguous", "strided"):
            self._check_bound(name, inputs, outputs)
        for output, positions in self.node.op.destroy_map.items():
            self._check_in_place(output, positions[0], inputs, outputs)
        return outputs

    def _run_kernel(self, inputs, poison=POISONS[0], **options):
        return run_kernel(self.kernel, inputs, self.layouts, poison=poison, **options)

    def _check_writing(self, given, outputs):
        """Check that the kernel writes the same values over other garbage."""
        others = self._run_kernel(given, POISONS[1])
        for position, (value, other) in enumerate(zip(outputs, others)):
            variable = self.node.outputs[position]
            if not _same(value, other) and not (hasattr(variable.tag, "values_eq_approx")
                                                and agree(variable, value, other)):
                again = self._run_kernel(given)[position]
                if not _same(value, again):
                    raise NondeterministicOp(variable, KERNEL, value, f"{KERNEL}, again", again, given)
                raise UnwrittenOutput(self.node, position, value, other)

    def _check_layout(self, name, inputs, outputs):
        given = [laid_out(name, value) for value in inputs]
        self._compare(outputs, KERNEL, self._run_kernel(given), f"{KERNEL}, inputs {name}", given)
        self._check_inputs(inputs, given, f"{KERNEL}, inputs {name},")

    def _check_zero_strides(self, inputs):
        """Check that inputs with strides of 0 are read like inputs with one element for each index."""
        floats = any([value.dtype.kind in "fc" for value in inputs])
        given = [repeated(value) if value.dtype.kind in "fc" or not floats else value for value in inputs]
        if not any([value.size > 1 for value in given]):
            return
        try:
            expected = self._run_kernel([value.copy(order="C") for value in given])
        except Exception:
            return                                  # the op does not accept these values
        self._compare(expected, KERNEL, self._run_kernel(given), f"{KERNEL}, inputs with strides of 0", given)

    def _check_examined(self, inputs):
        """Check that ``prepare`` reads only values that the kernel declares as examined."""
        found = read_by_prepare(self.kernel, inputs, self.layouts)
        if found is not None:
            raise BadExamined(self.node, self.kernel.examined, *found)

    def _check_bound(self, name, inputs, outputs):
        """Check that the kernel computes the same once it is bound, by other values in the same layout."""
        given, others = bound_by(self.kernel, name, inputs)
        try:
            results = self._run_kernel(given, bound_by=others)
        except Exception:                           # the kernel does not accept the other values
            results = self._run_kernel(given, bound_by=given)
        self._compare(outputs, KERNEL, results, f"{KERNEL}, bound, inputs {name}", given)

    def _check_in_place(self, output, position, inputs, outputs):
        """Check that the output may take the input's memory, as the linker may arrange it."""
        for title, options in [("", {}), (", bound", {"bound_by": inputs})]:
            results = self._run_kernel(inputs, donors={output: position}, **options)
            self._compare(outputs, KERNEL, results,
                          f"{KERNEL}{title}, output {output} in the memory of input {position}", inputs)

    # ---- perform -----------------------------------------------------------------------------------------------------
    def _check_perform(self, inputs, expected):
        given = self._copies(inputs)
        outputs = self._accepted(self._perform(given), PERFORM)
        self._check_inputs(inputs, given, PERFORM)
        self._check_views(given, outputs)
        again = self._copies(inputs)
        others = self._accepted(self._perform(again), f"{PERFORM}, again")
        self._compare(outputs, PERFORM, others, f"{PERFORM}, again", inputs, NondeterministicOp)
        self._check_keeping(given, outputs, others)
        if expected is not None:
            self._compare(expected, KERNEL, outputs, PERFORM, inputs)
            self._check_strides(expected, outputs)
        for name in self.mode.preallocated_layouts:
            self._check_preallocated(name, inputs, outputs)
        return outputs if expected is None else expected

    def _perform(self, inputs, storage=None):
        storage = [[None] for _ in self.node.outputs] if storage is None else storage
        with numpy.errstate(all="ignore"):
            compute(self.node.op, self.node, inputs, storage)
        if len(storage) < len(self.node.outputs) or not all(storage):
            raise ValueError(f"perform removed some of the {len(self.node.outputs)} cells for its outputs")
        return [cell[0] for cell in storage]

    def _check_keeping(self, given, outputs, others):
        """Check that two calls do not return the same memory, unless it is an input's: else the op keeps it."""
        for position, (value, other) in enumerate(zip(outputs, others)):
            if _overlap(value, other) and not any([_overlap(value, argument) for argument in given]):
                raise BadViewMap(self.node, position, value)

    def _check_preallocated(self, name, inputs, outputs):
        """Check that ``perform`` works with preallocated outputs, whether it writes to them or not."""
        largest = config.DebugMode.check_preallocated_output_ndim
        storage = [[blank(name, value) if isinstance(value, numpy.ndarray) and value.ndim <= largest
                    else None] for value in outputs]
        title = f"{PERFORM}, storage {name}"
        results = self._accepted(self._perform(self._copies(inputs), storage), title)
        self._compare(outputs, PERFORM, results, title, inputs)

    def _check_strides(self, expected, outputs):
        """Compare strides as ``require_matching_strides`` demands: 1 warns, 2 raises."""
        if not self.mode.require_matching_strides:
            return
        for variable, value, other in zip(self.node.outputs, expected, outputs):
            if getattr(value, "strides", None) != getattr(other, "strides", None):
                message = (f"the strides of {variable} are {value.strides} by the kernel and {other.strides} by "
                           f"perform of {self.node.op}{made_at(self.node)}")
                if self.mode.require_matching_strides == 2:
                    raise TypeError(f"Stride mismatch: {message}")
                import warnings
                warnings.warn(message, stacklevel=2)

    # ---- what both share ---------------------------------------------------------------------------------------------
    def _copies(self, inputs):
        """Copy the values; inputs that are the same variable get the same copy."""
        made = {}
        for variable, value in zip(self.node.inputs, inputs):
            if variable not in made:
                made[variable] = copied(value)
        return [made[variable] for variable in self.node.inputs]

    def _accepted(self, values, title):
        """Return the values as their types' ``filter`` returns them."""
        found = []
        for variable, value in zip(self.node.outputs, values):
            type_ = variable.type
            if not type_.is_valid_value(value):
                raise InvalidValueError(variable, value, hint=f"output of {title}",
                                        specific_hint=type_.value_validity_msg(value))
            found.append(type_.filter(value, strict=True) if type_.layout is not None else value)
        return found

    def _check_inputs(self, inputs, given, title):
        """Check that no input has changed except as the op declares."""
        destroyed = {self.node.inputs[position] for position in self.destroyed}
        for position, (value, now) in enumerate(zip(inputs, given)):
            if self.node.inputs[position] not in destroyed and not identical(value, now):
                raise BadDestroyMap(self.node, position, value, now, title)

    def _check_views(self, given, outputs):
        """Check that each output shares memory only with the declared inputs, and with no other output that is read."""
        op, variables = self.node.op, self.node.inputs
        for position, value in enumerate(outputs):
            declared = {variables[source] for source in [*op.view_map.get(position, ()),
                                                         *op.destroy_map.get(position, ())]}
            touched = [source for source, argument in enumerate(given) if _overlap(value, argument)]
            undeclared = [source for source in touched if variables[source] not in declared]
            if undeclared:
                raise BadViewMap(self.node, position, value, in_alias_idx=undeclared)
            if not touched:
                self._check_other_outputs(position, outputs)

    def _check_other_outputs(self, position, outputs):
        for other in range(position):
            if (self._is_read(position) and self._is_read(other) and _overlap(outputs[position], outputs[other])):
                raise BadViewMap(self.node, position, outputs[position], out_alias_idx=other)

    def _is_read(self, position):
        readers = self.readers.get(self.node.outputs[position], ())
        return any([not isinstance(node, str) for node, _ in readers])

    def _compare(self, expected, title, results, other_title, inputs, kind=BadThunkOutput):
        for variable, value, other in zip(self.node.outputs, expected, results):
            if not agree(variable, value, other):
                raise kind(variable, title, value, other_title, other, inputs)


def _same(a, b):
    """Return whether two runs of one kernel on the same values are equal, up to rounding of sums in another order."""
    return identical(a, b) or (a.dtype.kind in "fc" and a.shape == b.shape
                               and bool(numpy.isclose(a, b, rtol=1e-6, atol=0, equal_nan=True).all()))


def _overlap(a, b):
    """Return whether two values share memory, or are the same mutable object."""
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray):
        return numpy.may_share_memory(a, b, max_work=EFFORT)
    return a is b and isinstance(a, MUTABLE)
