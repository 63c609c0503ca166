"""An op without a kernel, for tests of what programs do about Python code."""
import phintys


class Doubled(phintys.Op):
    """Twice its input, by ``perform``."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2
