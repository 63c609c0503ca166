"""Providers of inner loops: chooses the library whose loop is used for a function and dtype on this processor.

Functions such as exp have loops in glibc's libmvec and a few built-in ones (for AVX2 and for AVX-512;
``vector_math.pyx`` finds them), and in NumPy or SciPy. The best one depends on the processor: for float64, NumPy has
vector loops only with AVX-512. ``measured.py`` holds the measurements; this file chooses from them, among the loops
that ``config.math`` and ``config.cpu`` allow. Providers that are missing in this build or in the C library are skipped.
Functions and dtypes that are not in the table use NumPy's or SciPy's loops. The values of the options when a kernel is
made decide.
"""
import numpy

from phintys.graph.config import config
from phintys.ops.native.measured import COLUMNS, MEASURED
from phintys.ops.native.sets import sets_of_processor, usable_sets
from phintys.ops.native.special.vector_math import LIBRARIES, vector_sets

# Another provider must be so many times as fast as NumPy or SciPy, whose bits users may compare with.
WORTH = 1.1
MOST_ULPS = 4

TITLES = {"libmvec avx2": "glibc AVX2", "libmvec avx512": "glibc AVX-512",
          "phintys avx2": "phintys AVX2", "phintys avx512": "phintys AVX-512", "phintys neon": "phintys NEON"}
# NEON was not measured: its built-in functions are those of AVX2, bit for bit, and taken where AVX2's are. glibc has
# vector functions for it, too, from 2.38 on, whose errors are not known here.
MEASURED_AS = {"phintys neon": "phintys avx2"}


def built_in_title(sets=None):
    """The name of built-in loops that exist for each instruction set.

    Parameters
    ----------
    sets : int, optional
        The number of instruction sets that were usable when the loops were chosen; by default the present number.
    """
    instructions = sets_of_processor()[:sets] if sets is not None else usable_sets()
    return TITLES[f"phintys {instructions[-1]}"] if instructions else "phintys"


def numpy_column():
    """The column of the table for NumPy's loops in this process, if NumPy is restricted to ``config.cpu``."""
    if "avx512" not in usable_sets():
        return "numpy avx2"
    features = getattr(numpy._core._multiarray_umath, "__cpu_features__", {})
    return "numpy avx512" if features.get("X86_V4") or features.get("AVX512_SKX") else "numpy avx2"


def providers(name, dtype):
    """The providers of vector functions to try for a ufunc's function, the best first.

    Parameters
    ----------
    name : str
        Of a ufunc of NumPy or ``scipy.special``.
    dtype : str
        Of operands and result.

    Returns
    -------
    list of str
        Keys of ``TITLES``; after them comes the ufunc's own loop.
    """
    row = MEASURED.get((name, dtype))
    if row is None or config.math == "numpy":
        return []
    return offers(row, vector_sets(), numpy_column())


def offers(row, instruction_sets, numpys):
    """The providers whose loops for these sets are exact enough and faster than NumPy's, the fastest first."""
    nanoseconds, ulps = (dict(zip(COLUMNS, numbers)) for numbers in row)
    found = []
    for provider in [f"{library} {instructions}" for library in LIBRARIES for instructions in instruction_sets]:
        column = MEASURED_AS.get(provider, provider)
        if nanoseconds.get(column) is None or ulps[column] > MOST_ULPS:
            continue
        if nanoseconds[numpys] is None or nanoseconds[column] * WORTH <= nanoseconds[numpys]:
            found.append((nanoseconds[column], provider))
    return [provider for _, provider in sorted(found)]


def best_column(row, instruction_sets, numpys):
    """The column of the loop that is used if all of these exist."""
    return (offers(row, instruction_sets, numpys) or [numpys])[0]


def cost_of(name, dtype, provider=None):
    """Nanoseconds an element of a provider's loop, by default of NumPy's; None if it was not measured."""
    row = MEASURED.get((name, dtype))
    column = MEASURED_AS.get(provider, provider) or numpy_column()
    return None if row is None else row[0][COLUMNS.index(column)]
