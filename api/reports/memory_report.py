"""``f.memory_report()``: how much memory a call needs and leaves allocated, for each way of collecting garbage.

The report is computed from the lifetimes of the program's values and from the shapes of all cells, either those of the
last call or those that follow from given shapes. It counts the arrays that the program computes, but not arguments,
shared values that are only read, constants, numbers that are stored in cells, and the rounding of the pool. Scratch
memory of kernels is listed separately. Nothing is run. The body of a loop has a separate report; its peak is added
while the loop runs.
"""
from __future__ import annotations

from bisect import bisect_left, insort
from collections import namedtuple
from functools import cached_property
from typing import TYPE_CHECKING, Any

from phintys.graph.config import change_flags
from phintys.making.function_copies import Recipe
from phintys.reports.loop_bodies import bodies_of
from phintys.reports.predicted_shapes import Prediction
from phintys.reports.scratch_memory import scratch_bytes
from phintys.vm.explaining.names import Names
from phintys.vm.explaining.program_text import main_file_of
from phintys.vm.explaining.rows import line_texts
from phintys.vm.linking.lifetimes import Lifetimes
from phintys.vm.linking.packing import greedy_size
from phintys.vm.linking.plan import INLINE_BYTES, planned, sizes_of, values_of
from phintys.vm.opcodes import OPCODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.making.compiled_function import Function

# Memory that one or several values use in turn. first, last: instructions; cells: of the values; use: "temporary", or
# why the memory is not shared: "result", "update", "other", "loop". The latter is the memory that the steps of a
# loop need in addition to its results; its cell is -1 minus the loop's instruction.
Piece = namedtuple("Piece", "cell bytes first last cells use")

# A node that runs a second time, because of config.memory_limit. instruction: at which it does; bytes: of its results;
# share: of the estimated time of a call without such nodes.
Again = namedtuple("Again", "cell instruction bytes share")

# peak: bytes while a call runs; kept: bytes that the function keeps between calls.
Figures = namedtuple("Figures", "peak kept")

MODES = (True, False, "plan")
REPEATED = 3                    # calls until a frame keeps the same blocks after each call
LISTED = 20                     # pieces in the table
AGAIN_LISTED = 5                # values that are computed again
NAMED, WIDEST = 4, 120          # pieces at the peak that are named; letters of that line
LONGEST = 40                    # letters of the names of a piece in the table


def report_of(function: Function, shapes: Sequence[Any] | Mapping[Any, Any] | None = None) -> MemoryReport:
    """Return the report for given shapes of arguments, or for those of the last call; see ``Function.memory_report``.
    """
    if shapes is not None:
        given = _arranged(function, shapes)
        function = _fitted(function, given)
        if function.program.nodes is None:              # kept in a pickle
            with change_flags(program_cache=""):        # which has programs without their graphs
                function = Recipe(function).make(function.name, None)
        prediction = Prediction(function.program, given)
        return MemoryReport(function, prediction.shapes, prediction)
    function = _fitted(function, None)
    measured = function.last_shapes()
    arrays = [cell for cell, layout in enumerate(function.program.cells) if layout.kind == "value" and layout.ndim]
    if arrays and not any([measured[cell] is not None for cell in arrays]):
        raise ValueError(f"{function.name or 'the function'} was not called yet: give shapes=, one for each of its "
                         f"{len(function.argument_types)} arguments")
    return MemoryReport(function, measured)


def _fitted(function, given):
    """What runs for these shapes, or ran last, if the function has a limit."""
    return function.fitted(given) if hasattr(function, "fitted") else function


def _arranged(function, shapes):
    """Return what is given for each argument: a shape as a tuple, or an array of the argument's type."""
    names, types = function.argument_names, function.argument_types
    if isinstance(shapes, dict):
        shapes = {getattr(key, "name", key): given for key, given in shapes.items()}
        unknown = [name for name in shapes if name not in names]
        missing = [name for name in names if name not in shapes]
        if unknown or missing:
            raise ValueError(f"shapes: there are the arguments {names}; unknown {unknown}, missing {missing}")
        shapes = [shapes[name] for name in names]
    if len(shapes) != len(types):
        raise ValueError(f"shapes: {len(types)} arguments, {len(shapes)} were given; expected a list with one shape "
                         f"for each of {names}, got {shapes!r}")
    return [_checked(given, type_, name) for given, type_, name in zip(shapes, types, names)]


def _checked(given, type_, name):
    """Return a shape or a value that fits a type."""
    if type_.layout is None:
        return given
    if not isinstance(given, tuple):
        try:
            return type_.filter(given, strict=False, allow_downcast=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"shapes: {given!r} is neither a shape (a tuple) nor a value of the argument {name}: "
                             f"{error}") from error
    fits = len(given) == type_.ndim and all([
        length >= 0 and (static is None or length == static) for length, static in zip(given, type_.shape)])
    if not fits:
        raise ValueError(f"shapes: {given} is not a shape of the argument {name} of type {type_}")
    return given


class MemoryReport:
    """The memory of one program for certain shapes. ``print`` it, or read its figures.

    Attributes
    ----------
    modes : dict
        ``allow_gc`` → Figures: bytes at the peak of a call and kept by the function between calls; with ``False`` and
        ``"plan"`` once calls repeat. If results are dropped by the caller, the pool keeps more.
    lower_bound : int
        The largest number of bytes alive at one instruction.
    unshared : int
        The bytes of all values if each had separate memory.
    saved_in_place : int
        The bytes saved because values take the memory of their operands.
    offsets : dict
        Cell → the place of a temporary in that block, in bytes.
    greedy : int
        The size of the block if each temporary took the smallest hole that is large enough as the program runs.
    arena, arena_bound : int
        The size of the block in which the plan places temporaries, and the largest number of bytes of them alive at one
        instruction.
    pieces : list of Piece
        Each piece of memory, the largest first.
    loops : dict
        Instruction of a loop → the report of its body, for loops whose steps are run by a kernel.
    scratch : dict
        Instruction → bytes of scratch memory that its kernel asks for, such as planes of images of a convolution. The
        kernels of a call use the same memory, one after the other, and the function keeps it. It is no part of
        ``modes``.
    again : list of Again
        What is computed a second time because of ``config.memory_limit``, in the order in which that happens.
    price : float
        The estimated time of that, as a share of the estimated time of a call without it.
    unknown : list of int
        Cells whose sizes depend on values that were not given; they count as 0 bytes.
    measured : bool
        Whether the shapes are those of the last call.
    allow_gc : bool or "plan"
        As the program has it.
    kept_now : int
        The bytes that the function keeps at this moment, with the rounding of the pool.
    """

    def __init__(self, function: Any, shapes: Sequence[Sequence[int] | None],
                 prediction: Prediction | None = None) -> None:
        program, measured = function.program, prediction is None
        self.name, self.measured, self.kept_now = program.name, measured, function.kept_bytes()
        self._program, self.allow_gc = program, program.allow_gc
        lifetimes = Lifetimes(program)
        computed = [cell for cell in lifetimes.order if program.cells[cell].kind == "value"
                    and program.cells[cell].typenum >= 0]
        self.unknown = [] if measured else [cell for cell in computed if shapes[cell] is None]
        sizes = {cell: size for cell, size in sizes_of(program, shapes).items() if size > INLINE_BYTES}
        holder = lifetimes.holders(shapes)
        self.unshared = sum([sizes.get(cell, 0) for cell in computed])
        self.saved_in_place = sum([sizes.get(cell, 0) for cell in computed if holder[cell] != cell])
        bodies = bodies_of(program, shapes, prediction)
        self.loops = {body.position: MemoryReport(body.kernel, body.shapes, body.prediction) for body in bodies}
        self.pieces = _pieces(lifetimes, holder, shapes) + self._pieces_of_loops(bodies)
        self.pieces.sort(key=lambda piece: (-piece.bytes, piece.first))
        self._find_figures(lifetimes, holder, shapes)
        self.scratch = scratch_bytes(program, shapes, prediction)
        self._find_again(getattr(getattr(function, "maker", None), "budget", None))

    def _find_again(self, budget):
        """Look for the instructions of the nodes that run again."""
        self.again, self.price = [], 0.0
        if budget is None:
            return
        position = {node: number for number, node in enumerate(self._program.nodes)}
        cell_of = {layout.variable: cell for cell, layout in enumerate(self._program.cells)}
        self.again = sorted([Again(cell_of[again.node.outputs[again.output]], position[again.node], again.bytes,
                                   again.seconds / budget.seconds) for again in budget.again],
                            key=lambda again: again.instruction)
        self.price = budget.price

    def _pieces_of_loops(self, bodies):
        """Return the memory that the bodies of loops need."""
        pieces = []
        for body in bodies:
            sizes = sizes_of(body.kernel.program, body.shapes)
            inside = self.loops[body.position].modes[body.kernel.program.allow_gc].peak
            size = inside + sum([sizes[cell] for cell in body.carried if sizes[cell] > INLINE_BYTES])
            if body.ahead is not None:
                size += MemoryReport(body.kernel.blocks, body.ahead.shapes, body.ahead).unshared
            if size:
                pieces.append(Piece(-1 - body.position, size, body.position, body.position, [], "loop"))
        return pieces

    def _find_figures(self, lifetimes, holder, shapes):
        cells = list(lifetimes.temporaries())
        layout = planned(lifetimes, cells, shapes)
        placed = {cell for cell, size in zip(cells, layout.sizes) if size}
        self.arena = layout.total
        self.offsets = {cell: offset for cell, offset, size in zip(cells, layout.offsets, layout.sizes) if size}
        self.greedy = greedy_size([value for cell, value in values_of(lifetimes, holder, shapes).items()
                                   if cell in placed])
        self.arena_bound = max(_alive([piece for piece in self.pieces if piece.cell in placed], self._length()))
        self.lower_bound = max(self.alive())
        others = max(_alive([piece for piece in self.pieces if piece.cell not in placed], self._length()))
        alone = kept_by_frame(self.pieces)
        loops = sum([report.modes[report.allow_gc].kept for report in self.loops.values()])
        self.modes = {True: Figures(self.lower_bound, 0), False: Figures(alone.peak, alone.kept + loops),
                      "plan": Figures(self.arena + others, self.arena)}

    def _length(self):
        return len(self._program.instructions())

    def alive(self) -> list[int]:
        """Return the bytes alive at each instruction."""
        return _alive(self.pieces, self._length())

    def at_peak(self) -> list[Any]:
        """Return the pieces that are in use at the instruction at which most bytes are alive, the largest first.

        Returns
        -------
        list of Piece
        """
        alive = self.alive()
        peak = alive.index(max(alive)) if alive else 0
        return [piece for piece in self.pieces if piece.first <= peak <= piece.last]

    def __str__(self):
        rows = [("", "peak", "kept"), *[(f"allow_gc={mode}", _text(figures.peak), _text(figures.kept))
                                        for mode, figures in self.modes.items()]]
        source = "as the last call left them" if self.measured else "predicted"
        lines = [f"memory of {self.name or 'a function'}, {source}",
                 f"  {len(self.pieces)} pieces of memory; {_text(self.unshared)} without sharing, "
                 f"{_text(self.saved_in_place)} saved in place",
                 f"  {_text(self.lower_bound)} alive at once; {_text(self.arena)} planned for temporaries, of which "
                 f"{_text(self.arena_bound)} are alive at once",
                 *[f"  {mode:<16} {peak:>11} {kept:>11}" for mode, peak, kept in rows]]
        if self.scratch:
            position = max(self.scratch, key=self.scratch.get)
            lines.append(f"  scratch memory of kernels: {_text(self.scratch[position])}, which instruction {position} "
                         "needs")
        if self.pieces:
            peak = self.at_peak()
            names = [self.title(piece) for piece in peak[:NAMED]] + ["..."] * (len(peak) > NAMED)
            lines.append(f"  {len(peak)} pieces at the peak: {', '.join(names)}"[:WIDEST])
        if self.again:
            lines += self._lines_of_again()
        if self.unknown:
            lines.append(f"  sizes that depend on values: {self._names.of(self.unknown)}")
        lines.append("         bytes  instructions  use        values")
        lines += [self._row(piece) for piece in self.pieces[:LISTED]]
        if len(self.pieces) > LISTED:
            lines.append(f"  ... {len(self.pieces) - LISTED} more")
        return "\n".join(lines)

    __repr__ = __str__

    def _lines_of_again(self):
        """Return lines on what is computed a second time: the dearest first."""
        lines = [f"  {len(self.again)} values are computed again, for the limit: about {self.price:.1%} more time"]
        for again in sorted(self.again, key=lambda again: -again.share)[:AGAIN_LISTED]:
            text = self._program.instruction_texts()[again.instruction]
            source = line_texts(text.lines, self._main_file)
            lines.append(f"  {_text(again.bytes):>12}  {again.instruction:<12}  {again.share:<9.2%}  "
                         f"{self._names.of([again.cell])}{f'  # {source}' * bool(source)}")
        if len(self.again) > AGAIN_LISTED:
            lines.append(f"  ... {len(self.again) - AGAIN_LISTED} more")
        return lines

    def _row(self, piece):
        """Return the line of the table for a piece of memory."""
        names, source = self.title(piece), self.lines(piece)
        names = names if len(names) <= LONGEST else f"{names[:LONGEST]}..."
        row = f"  {_text(piece.bytes):>12}  {f'{piece.first}-{piece.last}':<12}  {piece.use:<9}  {names}"
        return f"{row}  # {source}" if source else row

    @cached_property
    def _names(self):
        return Names(self._program)

    @cached_property
    def _main_file(self):
        return main_file_of(self._program.instruction_texts())

    @cached_property
    def _writers(self):
        """Cell → the number of the instruction that computes it."""
        writers = {}
        for number, instruction in enumerate(self._program.symbolic()):
            for cell in instruction.writes():
                writers.setdefault(cell, number)
        return writers

    def title(self, piece: Any) -> str:
        """Return the names of the values in a piece of memory."""
        return f"steps of instruction {piece.first}" if piece.use == "loop" else self._names.of(piece.cells)

    def lines(self, piece: Any) -> str:
        """Return in a few words the lines of the user that compute the values in a piece of memory."""
        texts, writers = self._program.instruction_texts(), self._writers
        numbers = [piece.first] if piece.use == "loop" else [writers[cell] for cell in piece.cells if cell in writers]
        return line_texts([line for number in numbers for line in texts[number].lines], self._main_file)

    def plot(self, target: Any = None) -> Any:
        """Draw each piece of memory as a rectangle, and the bytes alive as steps, with matplotlib.

        The width of a rectangle is the time in which its memory is in use, in instructions, and its height the size.
        Names of values and the lines of your program are in it.

        Parameters
        ----------
        target : path or matplotlib.axes.Axes, optional
            A file to write, or the axes to draw in. None: a new figure of ``matplotlib.pyplot``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from phintys.reports.memory_plot import plotted

        return plotted(self, target)

    def svg(self, target: Any = None) -> str:
        """Draw the layout of the memory over time as an SVG picture, without matplotlib.

        Temporaries are at the offsets of the plan, other memory is above. Dashed lines are the bytes alive at once,
        what ``allow_gc="plan"`` needs, and what it would need by the greedy walk. A tooltip names the values of a
        rectangle and the lines of your program.

        Parameters
        ----------
        target : path, optional
            A file to write.

        Returns
        -------
        str
            The text of the picture.
        """
        from phintys.reports.memory_picture import pictured

        picture = pictured(self)
        if target is not None:
            with open(target, "w", encoding="utf-8") as file:
                file.write(picture)
        return picture


def _pieces(lifetimes, holder, shapes):
    """Return the memory that the program itself allocates."""
    cells = {}
    for cell, holding in holder.items():
        if shapes[cell] is not None:
            cells.setdefault(holding, []).append(cell)
    uses = _uses(lifetimes)

    def use(members):
        told = [uses[member] for member in members if member in uses]
        return told[0] if told else "temporary" if all(map(lifetimes.is_temporary, members)) else "other"

    pieces = [Piece(cell, value.size, value.first, value.last, cells[cell], use(cells[cell]))
              for cell, value in values_of(lifetimes, holder, shapes).items()]
    return pieces


def _uses(lifetimes):
    """Map roots to "result" or "update"."""
    uses = {}
    for instruction in lifetimes.program.instructions():
        name = OPCODES[instruction.op].name
        if name == "RESULT":
            for cell in lifetimes.program.pool[instruction.b:instruction.b + instruction.c]:
                uses[lifetimes.roots.get(cell, cell)] = "result"
        elif name == "STORE":
            uses[lifetimes.roots.get(instruction.b, instruction.b)] = "update"
    return uses


def _alive(pieces, length):
    """Return the bytes of pieces alive at each of ``length`` instructions."""
    changes = [0] * (length + 1)
    for piece in pieces:
        changes[piece.first] += piece.bytes
        changes[piece.last + 1] -= piece.bytes
    alive, total = [], 0
    for change in changes[:length]:
        total += change
        alive.append(total)
    return alive


def kept_by_frame(pieces: Sequence[Any]) -> Any:
    """Return the figures of a frame that keeps dropped memory, once calls repeat.

    Parameters
    ----------
    pieces : iterable of Piece

    Returns
    -------
    Figures
    """
    free, owned = [], 0                             # sizes of blocks, sorted; bytes of all blocks
    for _ in range(REPEATED):
        owned, peak, handed_over = _one_call(pieces, free, owned)
        owned -= handed_over
    return Figures(peak, owned)


def _one_call(pieces, free, owned):
    """Return (bytes of the frame's blocks, the same plus results at the peak, bytes of the results)."""
    peak = handed_over = 0
    blocks, taken = {}, []                  # piece → the size of its block; old values are freed at the end
    ending = sorted([piece for piece in pieces if piece.use in ("temporary", "other")], key=lambda piece: piece.last)
    ended = 0
    for piece in sorted(pieces, key=lambda piece: (piece.first, piece.use == "loop")):
        if piece.use == "loop":                     # kept by the loop, if at all
            peak = max(peak, owned + piece.bytes)
            continue
        while ended < len(ending) and ending[ended].last < piece.first:
            insort(free, blocks[ending[ended].cell])
            ended += 1
        blocks[piece.cell] = block = _fitting(free, piece.bytes)
        if block is None:
            blocks[piece.cell] = block = piece.bytes
            owned += block
        if piece.use == "result":
            handed_over += block
        elif piece.use == "update":
            taken.append(block)
        peak = max(peak, owned)
    for block in [*taken, *[blocks[piece.cell] for piece in ending[ended:]]]:
        insort(free, block)
    return owned, peak, handed_over


def _fitting(free, size):
    """Take the smallest free block that is large enough and at most an eighth too large; None if there is none."""
    position = bisect_left(free, size)
    if position < len(free) and free[position] <= size + size // 8:
        return free.pop(position)
    return None


def _text(count):
    """Format a number of bytes with a unit."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
