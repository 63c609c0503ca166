"""The sources of an elementwise kernel: one walk over all elements, for any number of steps, inputs and outputs.

See ``walk_source.py``. An operand of one element that is on the host is passed by value.
"""
from phintys.gpu.kernels.scalar_source import body_of, loaded, to_store
from phintys.gpu.kernels.walk_source import ARRAY, SINGLE, VALUE, Walk


def elementwise_walk(code, patterns, values):
    """The walk for the arguments of an ``ElementwiseKernel``.

    Parameters
    ----------
    code, patterns
        See ``ElementwiseKernel``.
    values : sequence of bool
        The inputs that are passed by value.

    Returns
    -------
    Walk

    Raises
    ------
    NoSource
        If the device has no text for a loop or a dtype.
    """
    kinds = [VALUE if value else SINGLE if all(pattern) else ARRAY for pattern, value in zip(patterns, values)]

    def body(elements, results):
        reads = [f"const auto s{position} = {loaded(dtype, elements[position])};"
                 for position, dtype in enumerate(code.input_dtypes)]
        writes = [f"{results[position]} = {to_store(code.dtypes[slot], f's{slot}')};"
                  for position, slot in enumerate(code.outputs)]
        return reads + body_of(code) + writes

    return Walk(list(zip(code.input_dtypes, kinds)), [code.dtypes[slot] for slot in code.outputs],
                len(patterns[0]) if patterns else 0, body)
