"""Places: where the memory of a value is. Part of each type's ``layout``, of each cell, and of each buffer.

Values of different places never share memory: no value is computed into a donor of another place, and plans and claims
look at each place by itself. ``pool.pxd`` has the same numbers.
"""
HOST = 0                    # memory that the processor reads
DEVICE = 1                  # memory that the GPU in use reads
NAMES = {HOST: "host", DEVICE: "device"}

# Classes of kernels whose operands may be on the device: its own kernels, and those that read layouts only. The runtime
# of devices adds them; the verifier refuses a program in which another kernel has such an operand.
WORK_AT_DEVICE = set()

# Class of kernels that move a value from one place to another, or wait for it → where to, for listings. The runtime
# adds them, too.
TRANSFERS = {}

# Class of kernels that wait for a value to come from another place → a class of those that only begin to copy it, and
# one that waits for all that a call has begun. Where only RESULT reads such values, the linker waits once, before it.
LATE = {}


def place_name(place):
    """The name of a place, for messages."""
    return NAMES.get(place, f"place {place}")
