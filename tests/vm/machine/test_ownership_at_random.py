"""Random programs over shared variables, called in random ways, against NumPy on deep copies.

A program is a list of steps over arguments and shared variables; each step is known twice, symbolically and in NumPy.
A session calls it again and again and does in between whatever a user may: keeps results or drops them, hands them back
as arguments, lends and sets values, writes to arrays of his own, makes calls fail. At each moment the results and the
shared values must be right, what the user keeps must not change, and no two shared variables may overlap; in the end
every buffer is given back.
"""
import gc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.ifelse import ifelse
from phintys.tensor import TensorType
from phintys.vm.pool import pool_statistics

RANDOM = settings(deadline=None, database=None, max_examples=120, suppress_health_check=list(HealthCheck))
TOLERANCE = {"float64": 1e-7, "float32": 1e-2, "int64": 0}
KINDS = [("float64", 1), ("float64", 2), ("float64", 0), ("float32", 2), ("float32", 1), ("int64", 1)]
LARGEST = 1e12                          # numbers from here on would soon be infinite in float32
failing = False                         # whether the ops that fail do so now
RETAINED = []                           # what a user's op keeps


class UserOp(phintys.Op):
    """``work(*inputs)`` in Python; ``maps`` are its class attributes."""

    __props__ = ("work",)

    def __init__(self, work, view_map=None, destroy_map=None):
        self.work = work
        self.view_map, self.destroy_map = view_map or {}, destroy_map or {}

    def make_node(self, *inputs):
        return phintys.Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.work(*inputs)


def increment(a):
    a += 1
    return a


def retain(a):
    RETAINED[:] = [a, np.asfortranarray(a + 1)]
    return RETAINED[1]


def fail(a):
    if failing:
        raise ArithmeticError("a user's op")
    return a.copy()


def turned(a):
    return a[::-1].T if a.ndim else a


def set_row(a, b):
    a = a.copy()
    a[:1] = b
    return a


def add_at(a, b):
    a = a.copy()
    np.add.at(a, positions(a), b)
    return a


def twice(a, b):
    a = a.copy()
    a[::2] += b[::2]
    a[::2] += b[::2]
    return a


def positions(a):
    return np.arange(len(a)) // 2


def set_columns(a, b):
    a = a.copy()
    a[:, ::2] += b[:, ::2]
    return a


# name → (symbolic, NumPy's, kinds of the operands, kind of the result); a kind is dtype and rank, None: any, the same
def same(*ranks, dtypes=("float64", "float32", "int64"), operands=1):
    return [([(dtype, rank)] * operands, (dtype, rank)) for dtype in dtypes for rank in ranks]


FLOAT = ("float64", "float32")
USER = {name: UserOp(work, **maps) for name, work, maps in [
    ("copies", lambda a: a * 2, {}), ("same object", lambda a: a, {}), ("hidden view", turned, {}),
    ("view", turned, {"view_map": {0: [0]}}), ("whole view", lambda a: a, {"view_map": {0: [0]}}),
    ("increment", increment, {"destroy_map": {0: [0]}}), ("retain", retain, {}), ("fail", fail, {}),
    ("copying destroyer", lambda a: a + 1, {"destroy_map": {0: [0]}})]}
STEPS = [
    (T.tanh, np.tanh, same(0, 1, 2, dtypes=FLOAT)),
    (lambda a, b: a + b, np.add, same(0, 1, 2, operands=2)),
    (lambda a, b: a - 0.5 * b, lambda a, b: a - b.dtype.type(0.5) * b, same(0, 1, 2, dtypes=FLOAT, operands=2)),
    (lambda a, b: T.tanh(a) * b + a, lambda a, b: np.tanh(a) * b + a, same(0, 1, 2, dtypes=FLOAT, operands=2)),
    (T.maximum, np.maximum, same(0, 1, 2, operands=2)),
    (lambda a: a + 1, lambda a: a + a.dtype.type(1), same(0, 1, 2)),
    (lambda a: a, lambda a: a, same(1, 2)),
    # views
    (lambda a: a.T, lambda a: a.T, same(1, 2)), (lambda a: a[::-1], lambda a: a[::-1], same(1, 2)),
    (lambda a: a[:, ::-1].T, lambda a: a[:, ::-1].T, same(2)),
    (lambda a: a.flatten()[::-1].reshape(a.shape), lambda a: a.flatten()[::-1].reshape(a.shape), same(2)),
    (lambda a: a[:].dimshuffle("x", 0)[0], lambda a: a, same(1)),
    (lambda a: a.sum(axis=0), lambda a: a.sum(axis=0), [([(d, r + 1)], (d, r)) for d in FLOAT for r in (0, 1)]),
    (lambda a: a.diagonal(), lambda a: a.diagonal(), [([(d, 2)], (d, 1)) for d in FLOAT]),
    # several operands of different rank
    (lambda a, b: a - b, np.subtract, [([(d, 2), (d, 1)], (d, 2)) for d in FLOAT]),
    (lambda a, b: T.tanh(b) * a, lambda a, b: np.tanh(b) * a,
     [([("float64", r), ("float64", 0)], ("float64", r)) for r in (1, 2)]),
    (lambda a, b: T.dot(a, T.tanh(b)), lambda a, b: a.dot(np.tanh(b)), same(2, dtypes=FLOAT, operands=2)),
    (lambda a, b: T.dot(a, T.tanh(b)), lambda a, b: a.dot(np.tanh(b)), [([(d, 2), (d, 1)], (d, 1)) for d in FLOAT]),
    (lambda a, b, c: a - np.float32(0.25) * T.dot(b.T, T.tanh(c)),
     lambda a, b, c: a - a.dtype.type(0.25) * b.T.dot(np.tanh(c)),
     same(2, dtypes=FLOAT, operands=3)),
    (lambda a, b, c: a + T.outer(b, T.tanh(c)), lambda a, b, c: a + np.outer(b, np.tanh(c)),
     [([(d, 2), (d, 1), (d, 1)], (d, 2)) for d in FLOAT]),
    (lambda a, b, c: a + T.dot(b, T.tanh(c)), lambda a, b, c: a + b.dot(np.tanh(c)),
     [([(d, 1), (d, 2), (d, 1)], (d, 1)) for d in FLOAT]),
    # parts
    (lambda a, b: T.set_subtensor(a[:1], b[:1]), lambda a, b: set_row(a, b[:1]), same(1, 2, operands=2)),
    (lambda a, b: T.inc_subtensor(a[:, ::2], b[:, ::2]), set_columns, same(2, operands=2, dtypes=FLOAT)),
    (lambda a, b: T.inc_subtensor(a[T.arange(a.shape[0]) // 2], b), add_at, same(1, 2, operands=2)),
    (lambda a, b: T.inc_subtensor(T.set_subtensor(a[:1], b[:1])[T.arange(a.shape[0]) // 2], 0.5 * b),
     lambda a, b: add_at(set_row(a, b[:1]), 0.5 * b), same(1, 2, operands=2, dtypes=FLOAT)),
    (lambda a, b: T.inc_subtensor(T.inc_subtensor((0.5 * a)[::2], b[::2])[::2], b[::2]) - b,
     lambda a, b: twice(0.5 * a, b) - b, same(1, 2, operands=2, dtypes=FLOAT)),
    (lambda a: T.cast(a, "float64"), lambda a: a.astype("float64"), [([("int64", 1)], ("float64", 1))]),
    (lambda c, a, b: ifelse(c > 0, a, b), lambda c, a, b: a if c > 0 else b,
     [([("float64", 0), (d, r), (d, r)], (d, r)) for d in ("float64", "int64") for r in (1, 2)]),
] + [(op, lambda *a, name=name: {"increment": lambda a: a + 1, "retain": lambda a: a + 1, "copies": lambda a: a * 2,
                                 "copying destroyer": lambda a: a + 1, "view": turned, "hidden view": turned
                                 }.get(name, lambda a: a)(*a), same(1, 2)) for name, op in USER.items()]


class Program:
    """A graph, known twice; built from numbers that hypothesis draws."""

    def __init__(self, draw, size):
        def pick(things):
            return draw(st.sampled_from(things))

        self.size = size
        self.destroys = draw(st.booleans())     # whether ops of the user overwrite what they read, arguments too
        self.arguments = [draw(st.sampled_from(KINDS)) for _ in range(draw(st.integers(0, 3)))]
        self.stored = [draw(st.sampled_from(KINDS)) for _ in range(draw(st.integers(0, 4)))]
        self.values = self.arguments + self.stored
        if not self.values:
            self.values = self.stored = [KINDS[0]]
        self.steps = []
        for _ in range(draw(st.integers(0, 12))):
            symbolic, numeric, signatures = pick(STEPS)
            fitting = [signature for signature in signatures if set(signature[0]) <= set(self.values)
                       and (self.destroys or not getattr(symbolic, "destroy_map", None))]
            if fitting:
                kinds, result = pick(fitting)
                operands = [pick([n for n, kind in enumerate(self.values) if kind == wanted]) for wanted in kinds]
                self.steps.append((symbolic, numeric, operands))
                self.values.append(result)
        count = len(self.values)
        self.outputs = [(draw(st.integers(0, count - 1)), draw(st.integers(0, 2)) == 0)
                        for _ in range(draw(st.integers(0, 4)))]
        self.updates = {}
        for number, kind in enumerate(self.stored):
            if draw(st.integers(0, 3)):
                self.updates[number] = pick([n for n, other in enumerate(self.values) if other == kind][::-1])
        self.access = [pick([{}, {"mutable": True}, {"borrow": True}]) for _ in self.arguments]
        self.overwrites = [self.destroys or "mutable" in access for access in self.access]

    def compile(self, variables, mode):
        inputs = [TensorType(dtype, (False,) * rank)() for dtype, rank in self.arguments]
        values = inputs + variables
        for symbolic, _, operands in self.steps:
            values.append(symbolic(*[values[operand] for operand in operands]))
        return function([In(variable, **access) for variable, access in zip(inputs, self.access)],
                        [Out(values[number], borrow=borrow) for number, borrow in self.outputs],
                        updates=[(variables[number], values[value]) for number, value in self.updates.items()],
                        accept_inplace=self.destroys, on_unused_input="ignore", mode=mode)

    def evaluate(self, arguments, stored):
        """(results, new stored values, the largest number on the way)"""
        values = [np.array(value) for value in arguments + stored]
        for _, numeric, operands in self.steps:
            values.append(np.array(numeric(*[values[operand].copy() for operand in operands])))
        scale = max([1.0] + [float(abs(value).max()) for value in values if value.size])
        updated = [values[self.updates[number]] if number in self.updates else value
                   for number, value in enumerate(stored)]
        return [values[number] for number, _ in self.outputs], [value.copy() for value in updated], scale


class Session:
    """A user of one program."""

    def __init__(self, draw, mode):
        self.draw = draw
        self.count = 0
        self.program = program = Program(draw, draw(st.sampled_from([2, 3, 1, 0, 8, 40])))
        self.expected = [self.fresh(kind) for kind in program.stored]
        self.variables = [shared(value.copy()) for value in self.expected]
        self.function = program.compile(self.variables, mode)
        self.kept = []                  # arrays of the user, with the values that they must keep
        self.borrowed = []              # results that the next call may overwrite
        self.scale = 1.0

    def fresh(self, kind):
        dtype, rank = kind
        self.count += 1
        value = np.random.RandomState(self.count).uniform(-2, 2, (self.program.size,) * rank)
        return np.asarray(value * (10 if dtype == "int64" else 1)).astype(dtype)

    def keep(self, array):
        if isinstance(array, np.ndarray):
            self.kept.append((array, array.copy()))

    # ---- what a user hands over --------------------------------------------------------------------------------------
    def array(self, kind, given=()):
        """An array of the kind, from somewhere, in some layout."""
        value, rank = self.fresh(kind), kind[1]
        old = [array for array in [*given, *[array for array, _ in self.kept], *self.borrowed]
               if isinstance(array, np.ndarray) and array.dtype.name == kind[0] and array.shape == value.shape]
        values = [variable for variable, other in zip(self.variables, self.program.stored) if other == kind]
        layout = self.draw(st.sampled_from(LAYOUTS))
        if layout == "old":
            return self.draw(st.sampled_from(old[-4:])) if old else value
        if layout == "old turned":
            return turned(self.draw(st.sampled_from(old[-4:]))) if old else value
        if layout == "shared":
            return self.draw(st.sampled_from(values)).get_value(borrow=True) if values else value
        if layout == "shared turned":
            return turned(self.draw(st.sampled_from(values)).get_value(borrow=True)) if values else value
        if layout == "read-only":
            value.flags.writeable = False
        elif layout == "reversed":
            return value[(slice(None, None, -1),) * rank] if rank else value
        elif layout == "strided" and rank:
            wide = np.repeat(value, 2, axis=rank - 1)
            return wide[..., ::2]
        elif layout == "Fortran":
            return np.asfortranarray(value) if rank else value
        elif layout == "broadcast" and value.size:
            return np.broadcast_to(value.flat[0], value.shape)
        elif layout == "overlapping" and value.size and rank:
            return np.lib.stride_tricks.as_strided(value, value.shape, (0,) * rank)
        elif layout == "swapped":
            return value.astype(value.dtype.newbyteorder())
        elif layout == "list" and kind[0] != "float32" and value.size:
            return value.tolist()
        return value

    # ---- what a user does --------------------------------------------------------------------------------------------
    def call(self):
        global failing
        program, given = self.program, []
        for kind in program.arguments:
            given.append(self.array(kind, given))
        values = [np.array(value, dtype=kind[0]) for value, kind in zip(given, program.arguments)]
        results, stored, scale = program.evaluate(values, self.expected)
        for array, overwritten in zip(given, program.overwrites):
            if not overwritten:
                self.keep(array)
        self.kept = [(array, value) for array, value in self.kept if not self.may_change(array, given)]
        self.borrowed = []
        failing = self.draw(st.integers(0, 4)) == 0
        try:
            got = self.function(*given)
        except ArithmeticError:
            assert failing
            return
        finally:
            failing = False
        self.expected, self.scale = stored, max(scale, self.scale)
        for array, wanted, (_, borrow) in zip(got, results, program.outputs):
            self.agree(array, wanted)
            assert array.flags.writeable
        for number, (array, (_, borrow)) in enumerate(zip(got, program.outputs)):
            if borrow:
                self.borrowed.append(array)
                continue
            assert not any(np.shares_memory(array, other) for other in got[:number] + given
                           if isinstance(other, np.ndarray) and other is not array)
            if self.draw(st.integers(0, 2)):
                self.keep(array)

    def may_change(self, array, given):
        """Whether the user permits a call with these arguments to write to the array."""
        return any(np.may_share_memory(array, lent) for lent in self.borrowed) or any(
            overwritten and isinstance(value, np.ndarray) and np.may_share_memory(array, value)
            for value, overwritten in zip(given, self.program.overwrites))

    def set_value(self):
        if self.variables:
            number = self.draw(st.integers(0, len(self.variables) - 1))
            value = self.array(self.program.stored[number])
            self.expected[number] = np.array(value, dtype=self.program.stored[number][0])
            borrow = self.draw(st.booleans())
            self.variables[number].set_value(value, borrow=borrow)
            if self.draw(st.booleans()) and isinstance(value, np.ndarray):
                lent = [array for array in self.borrowed if np.may_share_memory(array, value)]
                if not lent:
                    self.keep(value)

    def get_value(self):
        if self.variables:
            number = self.draw(st.integers(0, len(self.variables) - 1))
            self.keep(self.variables[number].get_value(borrow=self.draw(st.booleans())))

    def write(self):
        """To an array to which only the user refers."""
        if self.kept:
            array, _ = self.kept.pop(self.draw(st.integers(0, len(self.kept) - 1)))
            seen = [variable.get_value(borrow=True) for variable in self.variables]
            if array.flags.writeable and not any(np.may_share_memory(array, other) for other in seen):
                self.kept = [pair for pair in self.kept if not np.may_share_memory(pair[0], array)]
                array[...] = 77

    def drop(self):
        del self.kept[::2]
        self.borrowed = []
        del RETAINED[:]

    def refused(self):
        """A call that fails before it runs."""
        if self.program.arguments:
            given = [self.array(kind) for kind in self.program.arguments]
            given[-1] = "text"
            with pytest.raises((TypeError, ValueError)):
                self.function(*given)

    # ---- what must hold ----------------------------------------------------------------------------------------------
    def agree(self, array, wanted):
        assert array.dtype == wanted.dtype and array.shape == wanted.shape
        np.testing.assert_allclose(array, wanted, rtol=0, atol=TOLERANCE[wanted.dtype.name] * self.scale)

    def check(self):
        values = [variable.get_value(borrow=True) for variable in self.variables]
        for number, (value, wanted) in enumerate(zip(values, self.expected)):
            self.agree(value, wanted)
            wanted[...] = value                         # rounding does not add up
            assert not any(np.shares_memory(value, other) for other in values[:number])
        for array, value in self.kept:
            np.testing.assert_array_equal(array, value)


LAYOUTS = ["plain", "plain", "plain", "old", "old", "old turned", "shared", "shared turned", "read-only", "reversed",
           "strided", "Fortran", "broadcast", "overlapping", "swapped", "list"]
ACTIONS = [Session.call, Session.call, Session.call, Session.set_value, Session.get_value, Session.write, Session.drop,
           Session.refused]
MODES = [("FAST_RUN", {}), ("FAST_COMPILE", {}), ("FAST_RUN", {"allow_gc": False}), ("FAST_RUN", {"allow_gc": "plan"}),
         ("FAST_RUN", {"stress": True})]


def run_session(draw):
    name, flags = draw(st.sampled_from(MODES))
    with phintys.config.change_flags(**flags):
        session = Session(draw, name)
        for _ in range(draw(st.integers(1, 8))):
            draw(st.sampled_from(ACTIONS))(session)
            session.check()
            if session.scale > LARGEST:
                break


@RANDOM
@given(st.data())
def test_sessions(data):
    check_session(data.draw)


@pytest.mark.long
@settings(RANDOM, max_examples=3000)
@given(st.data())
def test_many_sessions(data):
    check_session(data.draw)


def check_session(draw):
    live = pool_statistics()["live_buffers"]
    run_session(draw)
    del RETAINED[:]
    if pool_statistics()["live_buffers"] != live:
        gc.collect()
    assert pool_statistics()["live_buffers"] <= live
