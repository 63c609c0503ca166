"""How many steps of loops are replayed: see ``vm/loops/replay.pyx``."""
from contextlib import contextmanager

import phintys
from phintys.vm.loops.loop_kernel import loops_in


def replayed(f):
    """How many steps of a function's loops have been replayed."""
    return sum([loop.replayed for loop in loops_in(f.program)])


@contextmanager
def replays(f, least):
    """Check that at least so many steps are replayed in this block. Under ``config.stress`` no values stay where they
    are, as replayed steps need it: then none may be, and only the results of the block count."""
    before = replayed(f)
    yield
    count = replayed(f) - before
    assert count == 0 if phintys.config.stress else count >= least, count
