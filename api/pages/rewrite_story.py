"""The rewrites that the optimizer applied to a function, in order, with the expressions that they replaced.

Functions do not record this. Instead the function's graph is made and optimized once more, with the same mode, while a
feature of the graph records the changes; the optimizer makes the same decisions again.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.scratchpad import position_of
from phintys.graph.trace import lines_of
from phintys.ops.formulas import written
from phintys.pages.graph_picture import picture_of

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function
    from phintys.pages.rewrite_story import RecordingMaker

MOST_EXAMPLES = 4               # of a rewrite that is applied several times in a row


class Story:
    """Records what the optimizer of a `FunctionMaker` does.

    Attributes
    ----------
    before, after : dict
        Pictures of the graph as the user made it, and of the optimized one.
    chapters : list of dict
        Rewrites in the order in which they were applied: ``name``, ``count``, and ``examples``, a list of (old text,
        new text, lines of the user).
    """

    def _optimize(self):
        self.before = self._picture()
        recorder = _Recorder()
        self._compiled.attach_feature(recorder)
        super()._optimize()
        self._compiled.remove_feature(recorder)
        self.chapters = recorder.chapters
        self.after = self._picture()

    def _picture(self):
        graph = self._compiled
        names = {position: f"new value of {graph.inputs[number]}" for position, number in self.update_positions}
        return picture_of(graph.inputs, graph.outputs, names)


def story_of(function: Function) -> RecordingMaker:
    """Return how a function's graph was rewritten."""
    maker = type("RecordingMaker", (Story, type(function.maker)), {})
    return maker(**function.maker.given_arguments(), profile=False)


class _Recorder:
    """A feature that notes each replacement once."""

    def __init__(self):
        self.chapters = []
        self._last = None

    def on_change_input(self, fgraph, node, position, old, new, reason):
        """Record a replacement, unless another reader of the same variable has just been changed."""
        if isinstance(reason, tuple) or reason is None or (old, new, reason) == self._last:
            return
        self._last = old, new, reason
        chapter = self.chapters[-1] if self.chapters else None
        if chapter is None or chapter["name"] != str(reason):
            chapter = {"name": str(reason), "count": 0, "examples": []}
            self.chapters.append(chapter)
        chapter["count"] += 1
        if len(chapter["examples"]) < MOST_EXAMPLES:
            source = position_of(old)
            chapter["examples"].append((written(old), written(new), lines_of(source)))
