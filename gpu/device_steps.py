"""Which loops on the device are one kernel: elementwise bodies, and recurrent ones.

The compiled body of a loop is a list of kernels. If they are elementwise, products of rows with matrices that do not
change, and parts of rows, all steps are done by one launch (``kernels/steps_source.py``): each thread keeps its states,
and the weights of its products, in registers. Lengths are part of the source, so `steps_for` looks for a kernel when
the loop is run, once for each combination of shapes. The kernel of loops runs the body step by step if there is none.

A row of ``units`` columns has one for each unit, so a value of 3 * units columns is three *groups* of columns. What
these allow is decided here:

* States, sequences and all that is computed from them have a multiple of ``units`` columns, or one column for each row.
* A product multiplies a row (of any number of groups) with a matrix that is a whole.
* A part of a row consists of whole groups.
"""
from collections import namedtuple
from math import prod

import numpy

from phintys.gpu.kernels.elementwise_kernel import GpuElementwiseKernel
from phintys.gpu.kernels.part_kernel import GpuIncSubtensorKernel
from phintys.gpu.kernels.product_kernel import GpuProductKernel
from phintys.gpu.kernels.scalar_source import NoSource, body_of, literal, step_text
from phintys.gpu.kernels.steps_kernel import GpuStepsKernel
from phintys.gpu.kernels.steps_source import MOST_OF_A_CLUSTER, Steps
from phintys.gpu.runtime.device import the_device
from phintys.graph import hooks
from phintys.ops.indexing.subtensor_kernel import SubtensorKernel
from phintys.ops.native.shape_kernel import DimShuffleKernel
from phintys.vm.places import HOST
from phintys.vm.program import DTYPES

BLOCKS = (1, 4, 8)              # of a row: more than one are a cluster, which devices from sm_90 on have
SHARES = (4, 8, 16)             # units of a block, of many that exchange tagged numbers
PARTS = (2, 4, 8, 16, 32)       # threads of a unit
MOST_THREADS = 512              # of a block, so that each can have 128 registers
MOST_WEIGHTS = 64               # words in a thread's registers
MOST_SHARED = 40000             # bytes of the vectors that are exchanged
MOST_AT_ONCE = 2048             # threads of all rows, for each multiprocessor: with more, cuBLAS is faster
MOST_BACK = 8                   # steps that a state is kept in registers
MOST_OPERANDS = 48              # loads and outputs: their descriptions fit into the arguments of a launch

# A value of the body. An argument, or a view of one: `argument` is its number, and `axes` says which of its axes each
# axis is (None: one of length 1). Else the names of its groups, and how many rows and columns it has; of elements its
# name and shape.
View = namedtuple("View", "argument axes")
Row = namedtuple("Row", "rank rows columns names")
Element = namedtuple("Element", "shape name")

_kernels = {}                   # (source, how it is launched) → its kernel: loops of equal bodies share it


class NotOneKernel(Exception):
    """A body is done step by step."""


def steps_for(program, first_tap, taps, n_stacked, n_carried, shapes):
    """The kernel that does all steps of a loop.

    Parameters
    ----------
    program : Program
        The body.
    first_tap : int
        How many arguments are rows of sequences or computed ahead.
    taps : tuple of tuple of int
    n_stacked, n_carried : int
    shapes : tuple of tuple of int
        Of the arguments of the body.

    Returns
    -------
    (GpuStepsKernel, tuple of tuple of int) or None
        With the shapes of the body's results.
    """
    try:
        return Finder(program, first_tap, taps, n_carried, shapes).found(n_stacked)
    except (NotOneKernel, NoSource):
        return None


hooks.steps_at_device = steps_for


def wants(condition):
    """Give up unless a condition holds."""
    if not condition:
        raise NotOneKernel


class Finder:
    """Follows the instructions of one body."""

    def __init__(self, program, first_tap, taps, n_carried, shapes):
        self.program, self.shapes, self.layouts = program, shapes, program.cells
        self.first_tap, self.taps, self.n_carried = first_tap, taps, n_carried
        self.first_carried = first_tap + sum(map(len, taps))
        self.first_whole = self.first_carried + n_carried
        self.model = first_tap if taps else self.first_carried if n_carried else 0
        wants(shapes and self.model < self.first_whole)
        self.shape = shapes[self.model]
        products = any([isinstance(kernel, GpuProductKernel) for kernel in program.kernels])
        wants(prod(self.shape) and (not products or len(self.shape) in (1, 2)))
        self.rank = 2 if products else len(self.shape)
        wants(not products or all(map(len, shapes[first_tap:self.first_whole])))
        widths = [own[-1] for own in shapes[first_tap:self.first_whole]] or [self.shape[-1]] if products else [0]
        wants(not products or all([width and width % min(widths) == 0 for width in widths]))
        dtypes = [self._dtype(cell) for cell in range(program.n_arguments)]
        self.steps = Steps(self.rank, min(widths), dtypes, first_tap, self.first_carried,
                           self.first_whole)
        self.rows = self.shape[0] if len(self.shape) == 2 else 1
        self.values = {}
        for cell in range(program.n_arguments):
            at_host = self.layouts[cell].place == HOST
            wants(not at_host or cell >= self.first_whole)
            self.values[cell] = View(cell, tuple(range(len(shapes[cell]))))
        self.back = [(state, -tap) for state, own in enumerate(taps) for tap in own]

    # ---- the instructions --------------------------------------------------------------------------------------------
    def found(self, n_stacked):
        """What `steps_for` returns."""
        results = None
        for instruction in self.program.symbolic():
            cells = [int(cell) for cell in instruction.cells]
            if instruction.name == "RESULT":
                results = cells
            elif instruction.name == "KERNEL":
                kernel = self.program.kernels[instruction.a]
                wants(type(kernel) in READERS)
                READERS[type(kernel)](self, kernel, cells)
            elif instruction.name == "COPY":
                self.values[instruction.a] = self.values[instruction.b]
            else:
                wants(instruction.name in ("DROP", "HALT"))
        return self._kernel_for(results, n_stacked)

    def _kernel_for(self, results, n_stacked):
        steps, n_rows = self.steps, len(self.taps) + n_stacked
        wants(len(results) == n_rows + self.n_carried)
        wants(all([self.layouts[cell].place != HOST for cell in results]))
        written = [self._written(cell) for cell in results]
        steps.outputs, steps.carried = written[:n_rows], written[n_rows:]
        steps.states = [-min(own) for own in self.taps]
        shapes = tuple([self._shape_of(cell) for cell in results])
        arguments = [self.shapes[self.first_tap + sum(map(len, self.taps[:state]))] for state in range(len(self.taps))]
        wants(shapes[:len(self.taps)] == tuple(arguments) and max(steps.states, default=0) <= MOST_BACK)
        wants(shapes[n_rows:] == self.shapes[self.first_carried:self.first_whole])
        wants(len(steps.loads) + len(results) <= MOST_OPERANDS)
        return self._launched(len(results) - self.n_carried), shapes

    def _launched(self, n_outputs):
        """The kernel of the source, made once."""
        steps = self.steps
        parts, blocks = self._division() if steps.units else (1, 1)
        key = (steps.source(parts, blocks), steps.threads(parts, blocks), blocks, steps.words(blocks), steps.rank,
               bool(steps.units), self.first_tap, self.first_carried - self.first_tap, self.n_carried, self.model,
               tuple(steps.loads),
               tuple([product[:2] for product in steps.products]), n_outputs, tuple(steps.values))
        if key not in _kernels:
            _kernels[key] = GpuStepsKernel(*key)
        return _kernels[key]

    def _division(self):
        """How many threads a unit has, and how many blocks a row: as few as have registers for the weights."""
        size = sum([2 * (length + 128) * (8 if dtype == "float64" else 4) for length, dtype in self.steps.shared])
        clusters = int(the_device().architecture.removeprefix("sm_")) >= 90
        fitting = [(parts, blocks) for blocks in (BLOCKS if clusters else BLOCKS[:1]) for parts in PARTS
                   if self.steps.threads(parts, blocks) <= MOST_THREADS and self.steps.weights(parts) <= MOST_WEIGHTS]
        wants(size <= MOST_SHARED)
        parts, blocks = fitting[0] if fitting else self._spread()
        wants(self.rows * blocks * self.steps.threads(parts, blocks) <= MOST_AT_ONCE * the_device().multiprocessors)
        return parts, blocks

    def _spread(self):
        """The same of as many blocks as run at the same time."""
        parts, units = PARTS[-1], self.steps.units
        fitting = [-(-units // share) for share in SHARES if MOST_OF_A_CLUSTER < -(-units // share)
                   <= the_device().multiprocessors // self.rows]
        wants(fitting and all([dtype == "float32" for _, dtype in self.steps.shared]))
        few = self.steps.threads(parts, fitting[0]) <= MOST_THREADS // 2        # so they have twice as many registers
        wants(self.steps.weights(parts) <= MOST_WEIGHTS * (1 + few))
        return parts, fitting[0]

    # ---- values ------------------------------------------------------------------------------------------------------
    def _dtype(self, cell):
        return DTYPES[self.layouts[cell].typenum].name

    def read(self, cell):
        """A value as a ``Row`` or an ``Element``."""
        layout, value = self.layouts[cell], self.values.get(cell)
        if value is None:
            wants(layout.kind == "constant" and layout.place == HOST and layout.value.size == 1)
            return self._number(literal(layout.value.reshape(())), layout.ndim)
        if not isinstance(value, View):
            return value
        argument, axes = value
        if self.layouts[argument].place == HOST:
            wants(prod(self.shapes[argument]) == 1)
            self.steps.values[argument] = self._dtype(argument)
            return self._number(f"w{argument}", layout.ndim)
        lengths = [1 if axis is None else self.shapes[argument][axis] for axis in axes]
        if self.steps.units:
            return self._row_of(argument, axes, lengths)
        if self.first_tap <= argument < self.first_whole:
            wants(axes == tuple(range(len(axes))) and tuple(lengths) == self.shape)
            return Element(tuple(lengths), self._kept_names(argument, 1)[0])
        wants(len(lengths) == len(self.shape))
        return Element(tuple(lengths), self.steps.load(argument, axes, 1)[0])

    def _number(self, name, rank):
        return Row(rank, 1, 1, [name]) if self.steps.units else Element((1,) * rank, name)

    def _row_of(self, argument, axes, lengths):
        wants(len(axes) in (1, 2))
        rows, columns = lengths if len(axes) == 2 else (1, *lengths)
        wants(rows in (1, self.rows))
        groups = self._groups(columns)
        if self.first_tap <= argument < self.first_whole:
            wants(axes == tuple(range(len(axes))) and rows == self.rows and columns % self.steps.units == 0
                  or axes == (None, 0) and self.rows == 1)
            return Row(len(axes), rows, columns, self._kept_names(argument, groups))
        return Row(len(axes), rows, columns, self.steps.load(argument, (None,) * (2 - len(axes)) + axes, groups))

    def _groups(self, columns):
        """How many groups so many columns are."""
        wants(columns == 1 or columns % self.steps.units == 0)
        return 1 if columns == 1 else columns // self.steps.units

    def _kept_names(self, argument, groups):
        """The registers of a state or a carried value."""
        if argument >= self.first_carried:
            return [f"c{argument - self.first_carried}_{group}" for group in range(groups)]
        state, back = self.back[argument - self.first_tap]
        return [f"h{state}_{back}_{group}" for group in range(groups)]

    def _written(self, cell):
        value = self.read(cell)
        if isinstance(value, Element):
            wants(value.shape == self.shape)
            return [value.name], self._dtype(cell)
        wants(value.rows == self.rows and value.columns % self.steps.units == 0 and value.rank == len(self.shape))
        return value.names, self._dtype(cell)

    def _shape_of(self, cell):
        value = self.read(cell)
        return value.shape if isinstance(value, Element) else (value.rows, value.columns)[2 - value.rank:]

    # ---- kernels -----------------------------------------------------------------------------------------------------
    def elementwise(self, kernel, cells):
        """Steps over elements, for each group."""
        code, patterns = kernel.arguments[:2]
        operands = [self.read(cell) for cell in cells[:len(patterns)]]
        results = cells[len(patterns):]
        if self.steps.units:
            shapes = [(operand.rows, operand.columns)[2 - operand.rank:] for operand in operands]
        else:
            shapes = [operand.shape for operand in operands]
        shape = common_shape(shapes, patterns)
        if not self.steps.units:
            found = self._computed(code, [operand.name for operand in operands])
            self.values.update({cell: Element(shape, name) for cell, name in zip(results, found)})
            return
        wants(len(shape) in (1, 2))
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        groups = [self._computed(code, [operand.names[group if operand.columns > 1 else 0] for operand in operands])
                  for group in range(self._groups(columns))]
        for cell, names in zip(results, zip(*groups)):
            self.values[cell] = Row(len(shape), rows, columns, list(names))

    def _computed(self, code, names):
        """The names of scalar code's results."""
        lines = [f"const auto s{slot} = {name};" for slot, name in enumerate(names)] + body_of(code)
        return self.steps.compute(lines, [(f"s{slot}", code.dtypes[slot]) for slot in code.outputs])

    def product(self, kernel, cells):
        """A row times a matrix that does not change."""
        dtype, left, right, form = (*kernel.arguments[:3], dict(enumerate(kernel.arguments)).get(3, "plain"))
        form = (kernel.named_arguments or {}).get("form", form)
        wants(dtype in ("float32", "float64") and self.steps.units)
        start, alpha, beta = None, 1, 0
        if form == "accumulated":
            start, alpha, x, y, beta, out = cells
            alpha, beta = self._factor(alpha), self._factor(beta)
        elif form == "scaled":
            x, y, alpha, out = cells
            alpha = self._factor(alpha)
        else:
            x, y, out = cells
        if (left, right) == (2, 1):                     # a matrix times a vector
            x, y, flipped = y, x, True
        else:
            wants(right == 2)
            flipped = False
        vector, matrix = self.read(x), self.values.get(y)
        wants(isinstance(matrix, View) and matrix.argument >= self.first_whole and None not in matrix.axes
              and self.layouts[matrix.argument].place != HOST and len(matrix.axes) == 2)
        axes = matrix.axes[::-1] if flipped else matrix.axes
        length, columns = [self.shapes[matrix.argument][axis] for axis in axes]
        wants(vector.columns == length and length % self.steps.units == 0 and columns % self.steps.units == 0
              and vector.rows == self.rows)
        number = self.steps.exchange(vector.names, dtype)
        names = self.steps.multiply(number, matrix.argument, axes, columns // self.steps.units)
        rank = 1 if 1 in (left, right) else 2
        self.values[out] = Row(rank, self.rows, columns, self._accumulated(names, dtype, alpha, beta, start, columns))

    def _factor(self, cell):
        """A factor of a product, which is a constant."""
        layout = self.layouts[cell]
        wants(layout.kind == "constant" and layout.place == HOST and cell not in self.values)
        return layout.value.item()

    def _accumulated(self, names, dtype, alpha, beta, start, columns):
        """``alpha * product + beta * start``, for each group."""
        added = None
        if start is not None and beta != 0:
            added = self.read(start)
            wants(added.rows in (1, self.rows) and added.columns in (1, columns))
        found = []
        for group, name in enumerate(names):
            text = name if alpha == 1 else f"{number(alpha, dtype)} * {name}"
            if added is not None:
                term = added.names[group if added.columns > 1 else 0]
                text += f" + {term if beta == 1 else f'{number(beta, dtype)} * {term}'}"
            found += self.steps.compute([], [(text, dtype)])
        return found

    def part(self, kernel, cells):
        """Columns of a row."""
        wants(len(cells) == 2 and self.steps.units)
        value = self.read(cells[0])
        first, last = self._chosen(kernel.arguments[0], value)
        units = self.steps.units
        self.values[cells[1]] = Row(value.rank, value.rows, (last - first) * units, value.names[first:last])

    def part_set(self, kernel, cells):
        """A row of which columns are set, or added to."""
        plan, integers, dtype, sets = kernel.arguments[:4]
        wants(integers == 0 and self.steps.units)
        value, given = self.read(cells[0]), self.read(cells[1])
        first, last = self._chosen(plan, value)
        wants(given.columns in (1, (last - first) * self.steps.units) and given.rows in (1, value.rows)
              and given.rank == value.rank)
        names = list(value.names)
        for group in range(first, last):
            name = given.names[group - first if given.columns > 1 else 0]
            names[group] = name if sets else self.steps.compute(
                [], [(step_text("add", [names[group], name], (dtype,) * 3), dtype)])[0]
        self.values[cells[2]] = Row(value.rank, value.rows, value.columns, names)

    def _chosen(self, plan, value):
        """The groups that a basic index chooses."""
        wants(len(plan) <= value.rank and value.columns % self.steps.units == 0)
        chosen = (0, value.columns, 1)
        for axis, (drops, *entries) in enumerate(plan):
            wants(not drops and all([entry is None or isinstance(entry, int) for entry in entries]))
            length = value.columns if axis == value.rank - 1 else value.rows
            found = slice(*entries).indices(length)
            if axis == value.rank - 1:
                chosen = found
            else:
                wants(found == (0, length, 1))
        start, stop, step = chosen
        units = self.steps.units
        wants(step == 1 and start < stop and start % units == 0 and stop % units == 0)
        return start // units, stop // units

    def shuffle(self, kernel, cells):
        """A view with other dimensions: of an argument any, of a row between a vector and a matrix of one row."""
        order, value = kernel.arguments[1], self.values.get(cells[0])
        wants(value is not None)
        if isinstance(value, View):
            dropped = [axis for number, axis in enumerate(value.axes) if number not in order]
            wants(all([axis is None or self.shapes[value.argument][axis] == 1 for axis in dropped]))
            self.values[cells[1]] = View(value.argument, tuple([None if axis == "x" else value.axes[axis]
                                                                for axis in order]))
        else:
            wants(isinstance(value, Row) and value.rows == 1 and tuple(order) in (("x", 0), (1,)))
            self.values[cells[1]] = value._replace(rank=len(order))


READERS = {GpuElementwiseKernel: Finder.elementwise, GpuProductKernel: Finder.product, SubtensorKernel: Finder.part,
           GpuIncSubtensorKernel: Finder.part_set, DimShuffleKernel: Finder.shuffle}


def common_shape(shapes, patterns):
    """The shape of an elementwise result; gives up where lengths differ, which is an error that a step reports."""
    found = []
    for axis in range(len(patterns[0]) if patterns else 0):
        wide = {shape[axis] for shape, pattern in zip(shapes, patterns) if not pattern[axis]}
        narrow = {shape[axis] for shape, pattern in zip(shapes, patterns) if pattern[axis]}
        wants(len(wide) < 2 and narrow <= {1})
        found.append(wide.pop() if wide else 1)
    return tuple(found)


def number(value, dtype):
    """A number in C."""
    return literal(numpy.array(value, dtype))
