"""``import theano`` in a child process finds this package, because `as_theano` puts its folder into ``sys.path``.

multiprocessing hands ``sys.path`` to the processes that it spawns before they import anything of the program, so they
find phintys under Theano's name as their parent does. This package is replaced by what ``install_as_theano`` returns.
"""
import sys

import phintys

sys.modules.pop("theano", None)
phintys.install_as_theano()
