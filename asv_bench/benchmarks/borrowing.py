"""The time saved by ``borrow``: results that the next call may overwrite, and shared values without a copy."""
import numpy

import phintys
import phintys.tensor as T


class Results:
    """2 x of a million numbers, with a result that is the caller's or only lent."""

    params = [[False, True]]
    param_names = ["borrow"]

    def setup(self, borrow):
        x = T.dvector("x")
        self.double = phintys.function([x], phintys.Out(2 * x, borrow=borrow))
        self.view = phintys.function([phintys.In(x, borrow=borrow)], phintys.Out(x[::-1], borrow=borrow))
        self.value = numpy.ones(1_000_000)

    def time_new_result(self, borrow):
        self.double(self.value)

    def time_view_of_argument(self, borrow):
        self.view(self.value)


class SharedValues:
    """A shared value of a million numbers, read and set."""

    params = [[False, True]]
    param_names = ["borrow"]

    def setup(self, borrow):
        self.value = numpy.ones(1_000_000)
        self.shared = phintys.shared(self.value)

    def time_get_value(self, borrow):
        self.shared.get_value(borrow=borrow)

    def time_set_value(self, borrow):
        self.shared.set_value(self.value, borrow=borrow)
