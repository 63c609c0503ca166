"""The source of a kernel that makes a vector of numbers that are in different places."""
from phintys.gpu.kernels.scalar_source import stored, with_functions
from phintys.gpu.runtime.copies import DTYPES

MOST_NUMBERS = 32               # of a launch
NAMES = tuple([f"vector_of_{dtype}" for dtype in DTYPES])

KERNEL = """\
extern "C" __global__ void {name}(long long count, const __grid_constant__ Places places, {type}* result) {{
    if (threadIdx.x < count) result[threadIdx.x] = *(const {type}*)places.data[threadIdx.x];
}}
"""


def vector_source():
    """The source: a kernel for each size of a number."""
    kernels = [KERNEL.format(name=name, type=stored(dtype)) for name, dtype in zip(NAMES, DTYPES, strict=True)]
    return with_functions("\n".join([f"struct Places {{ const void* data[{MOST_NUMBERS}]; }};", *kernels]))
