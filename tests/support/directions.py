"""The R-operator against finite differences."""
import numpy
from family_cases import values, variable_for

import phintys


def check_directions(build, arrays):
    """The R-operator along both inputs against finite differences."""
    inputs = [variable_for(array) for array in arrays]
    points = [variable_for(array) for array in arrays]
    output = build(*inputs)
    function = phintys.function(inputs, output, on_unused_input="ignore")
    along = [values(array.shape, seed=5 + number) for number, array in enumerate(arrays)]
    directed = phintys.function(inputs + points, phintys.gradient.Rop(output, inputs, points),
                                on_unused_input="ignore")(*arrays, *along)
    step = 1e-6
    ahead = function(*[array + step * direction for array, direction in zip(arrays, along)])
    behind = function(*[array - step * direction for array, direction in zip(arrays, along)])
    numpy.testing.assert_allclose(directed, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-5)
