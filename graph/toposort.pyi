from collections.abc import Collection, Iterable, Mapping

from phintys.graph.apply import Apply
from phintys.graph.variable import Variable

def ancestors_of(variables: Iterable[Variable], blocked: set[Variable]) -> list[Variable]: ...
def io_toposort(inputs: Iterable[Variable], outputs: Iterable[Variable],
                orderings: Mapping[Apply, Iterable[Apply]] | None = None, known: Collection[Apply] = (),
                instead: Mapping[Apply, Apply] | None = None) -> list[Apply]: ...
