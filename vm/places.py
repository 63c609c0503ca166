"""Places: where the memory of a value is. Part of each type's ``layout``, of each cell, and of each buffer.

Values of different places never share memory: no value is computed into a donor of another place, and plans and claims
look at each place by itself. There is one place so far.
"""
HOST = 0                    # memory that the processor reads; ``pool.pxd`` has the same number
NAMES = {HOST: "host"}


def place_name(place):
    """The name of a place, for messages."""
    return NAMES.get(place, f"place {place}")
