"""Writes mathematics.md from what was measured: ``python docs/write_mathematics.py``.

A test fails when the page is out of date. The numbers are those of ``ops/native/measured.py``, which
``asv_bench/measure_loops.py`` writes."""
from pathlib import Path

from phintys.ops.native.measured import COLUMNS, MACHINES, MEASURED
from phintys.ops.native.providers import MOST_ULPS, WORTH, best_column

PAGE = Path(__file__).with_name("mathematics.md")

HEAD = f"""# Mathematical functions: speed and accuracy

Written by `docs/write_mathematics.py` from `ops/native/measured.py`, which `asv_bench/measure_loops.py` writes.

Several libraries have inner loops for functions such as `exp`. phintys uses the fastest one with an error of at most
{MOST_ULPS} ulp (units in the last place); loops of other libraries than NumPy and SciPy must be at least {WORTH} times
as fast as theirs. *libmvec* is a part of glibc: it has had `exp`, `log`, `power`, `sin` and `cos` since version 2.22,
the others since 2.35. phintys looks for it when the first function is compiled. `exp`, `expm1`, `log`, `log1p`, `sin`,
`cos`, `tanh`, `gammaln`, `psi`, `erfinv` and `softplus` are built in (*phintys*); without vectors, `softplus` is
`log1p` of `exp`. `f.explain()` names the provider of each loop.

| platform | functions of vectors |
|---|---|
| x86-64 with AVX2 or AVX-512, glibc 2.22 or later | libmvec's, the built-in ones and NumPy's: the fastest, as below |
| x86-64 with AVX2 or AVX-512, other C libraries | the built-in ones and NumPy's: the fastest, by the same tables |
| x86-64 without AVX2 | none: NumPy's and SciPy's loops |
| ARM64 (NEON) | the eleven built-in ones; else NumPy's and SciPy's loops |

SLEEF is not used: with AVX2 its functions of at most 1 ulp (version 3.5.1, thirteen of them) take 1.4 to 8 times as
long as the fastest of libmvec's and the built-in ones, and its `arcsinh`, `arccosh` and `log1p` of large float32 are
infinite.

The built-in functions have the same bits with AVX2, AVX-512 and NEON. On ARM the tables of AVX2 decide, as no speed was
measured there. NumPy's and SciPy's loops of the other functions (`erf`, `erfc`, `power`, `exp2`, `log2`, `log10`, `tan`
and its like, `arctan2`, `hypot`) call the C library for one element after the other there. libmvec has functions for
ARM64 from glibc 2.38 on, whose errors were not measured: they are not used.

| option | value | functions that are compiled from now on use |
|---|---|---|
| `config.math` | `"vector"` | the fastest provider |
| | `"numpy"` | NumPy's and SciPy's loops, which give the same bits as these libraries for arrays without gaps |
| `config.cpu` | `"native"` | all instruction sets of the processor |
| | `"avx2"` | at most AVX2 |
| | `"baseline"` | only instructions that every processor of this kind has |

`config.cpu` also chooses the loops of arithmetic, which give the same bits everywhere, and of casts from and to
float16. Other loops, such as selections and the sums of softmax, are chosen for the processor when the library is
loaded.

NumPy chooses its own loops when it is imported, and does not read `config.cpu`; the environment variable
`NPY_DISABLE_CPU_FEATURES` restricts them.

The value of an element depends only on the operands' values for this element. Its position, the length, strides, fusion
and the number of threads do not change a bit. For special values (NaN, infinities, signed zeros, subnormals, huge
arguments) the results are NumPy's, with three exceptions: `erfc` above 26.64 is correct, where SciPy's is already 0;
`gammaln` of subnormal numbers is correct, where SciPy's is infinite; and `erfinv` of -0 is -0.

Products of matrices and vectors of float32 and float64 have built-in loops, which `config.cpu` chooses, too. They are
used up to the sizes at which BLAS is faster: with AVX2 or AVX-512 until the operands no longer fit into the caches,
otherwise up to 5 x 5 by 5 x 5 and 24 x 24 by a vector. Each element of a result is one sum in the order of the rows of
the right operand. If this operand is a vector and the rows of the matrix are contiguous, 32 bytes of partial sums are
added pairwise. So an element depends only on its row and its column. With AVX2 and AVX-512, multiplication and addition
are rounded once, and both give the same bits, as NEON does; the baseline of x86 also rounds the product. BLAS adds in
other orders.

Powers with a whole, constant exponent up to 32 are products; with `config.math="numpy"` only squares are.
"""


def machines():
    """What was measured where, each machine once."""
    columns = {}
    for column, machine in MACHINES.items():
        columns.setdefault(machine, []).append(column)
    return [f"* {', '.join(names)}: {machine}" for machine, names in columns.items()]


def cell(number, chosen):
    """A number, in bold where this loop is used."""
    return "" if number is None else f"**{number}**" if chosen else str(number)


def table(kind):
    """One line for each function and dtype; ``kind`` is 0 for nanoseconds and 1 for errors."""
    yield "| function | dtype | " + " | ".join(COLUMNS) + " |"
    yield "|---|---|" + "---|" * len(COLUMNS)
    for (name, dtype), row in MEASURED.items():
        chosen = {best_column(row, sets, numpys) for sets, numpys in
                  [(("avx2", "avx512"), "numpy avx512"), (("avx2",), "numpy avx2")]}
        cells = [cell(number, column in chosen) for column, number in zip(COLUMNS, row[kind])]
        yield f"| {name} | {dtype} | {' | '.join(cells)} |"


def page():
    """The text of mathematics.md."""
    return "\n".join([
        HEAD, "## Nanoseconds per element", "",
        "Contiguous operands in the L1 cache, one thread. Bold: the loops used with AVX-512 and with AVX2.",
        "",
        *machines(), "", *table(0), "",
        "## Largest error in ulp", "",
        "Over all magnitudes, 1.2 million values each (random bits, ordinary numbers, near overflow, near 1 and",
        "others), compared with the next wider type. For float64, `erf` and `erfc` are compared with C's `erfl` and",
        "`erfcl`, rounded to float64, on 120,000 values; `gammaln`, `psi` and `erfinv` with mpmath, on some thousand",
        "positive values. For negative values `gammaln` and `psi` use scalar functions: their absolute error is as",
        "small, but their relative error is larger near zeros of the functions.", "",
        *table(1), ""])


if __name__ == "__main__":
    PAGE.write_text(page())
