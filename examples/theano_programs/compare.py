"""Run each program under phintys and under Theano, in turns, and print a table of the seconds of an epoch.

    python compare.py --theano PYTHON [--rounds 3] [--threads 1] [--isa avx2] [PROGRAM ...]

PYTHON is an interpreter that has Theano 1.0.5; the interpreter that runs this file has phintys. The shortest epoch of
all rounds counts; in brackets the seconds of that run, imports and compilation included. What each program reached is
named once if both reached the same. Theano's first run compiles C, which takes minutes; its cache is used later. With
several threads Theano's loops use OpenMP, unless THEANO_FLAGS say otherwise.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAMS = ["logistic_sgd", "mlp", "convolutional_mlp", "denoising_autoencoder", "stacked_autoencoders",
            "restricted_boltzmann_machine", "deep_belief_network", "recurrent_boltzmann_machine", "lstm",
            "slot_filling", "slot_filling --network jordan", "hybrid_monte_carlo", "layers"]
EPOCHS = {"hybrid_monte_carlo": 100, "lstm": 5}
# Keeps both libraries, NumPy and OpenBLAS to AVX2, as on a processor without AVX-512.
AVX2 = {"PHINTYS_FLAGS": "cpu=avx2", "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ"}


def environment(threads, isa):
    """The environment of all runs."""
    flags = ["blas.ldflags=-lopenblas", f"openmp={threads > 1}"]
    if isa == "avx2":
        flags.append("gcc.cxxflags=-march=haswell")
    flags.append(os.environ.get("THEANO_FLAGS", ""))            # of a flag that is there twice the last one counts
    count = str(threads)
    return dict(os.environ, **(AVX2 if isa == "avx2" else {}), OMP_NUM_THREADS=count, OPENBLAS_NUM_THREADS=count,
                THEANO_FLAGS=",".join(filter(None, flags)))


def measured(command, program, epochs, env):
    """Seconds of an epoch, seconds of the whole program, and what it printed."""
    name, *arguments = program.split()
    start = time.perf_counter()
    done = subprocess.run([*command, str(FOLDER / f"{name}.py"), "--epochs", str(epochs), *arguments], text=True,
                          capture_output=True, env=env)
    whole = time.perf_counter() - start
    if done.returncode:
        return float("inf"), whole, done.stderr.strip().splitlines()[-1]
    line = done.stdout.strip().splitlines()[-1]
    return float(re.search(r"seconds (?:an epoch|a move) ([0-9.]+)", line).group(1)), whole, line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theano")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", choices=["native", "avx2"], default="native")
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    options = parser.parse_args()
    env = environment(options.threads, options.isa)
    commands = {"phintys": [sys.executable, "-m", "phintys.as_theano"]}
    if options.theano:
        commands["Theano"] = [options.theano]
    print("| program |", " | ".join(f"{name}, s (whole program)" for name in commands), "| times as fast | reached |")
    print("|---" * (len(commands) + 3) + "|")
    for program in options.programs:
        found = {}
        for _ in range(options.rounds):
            for name, command in commands.items():
                result = measured(command, program, EPOCHS.get(program, 2), env)
                found[name] = min(found.get(name, result), result)
        print(row(program, found), flush=True)


def labelled(program):
    """A program's file and its arguments."""
    name, *arguments = program.split()
    return " ".join([f"`{name}.py`", *arguments])


def row(program, found):
    """A row of the table: seconds of an epoch, how many times as fast, and what each library's program printed."""
    seconds = [epoch for epoch, _, _ in found.values()]
    ratio = f"{seconds[1] / seconds[0]:.1f}" if len(seconds) == 2 else ""
    reached = "; ".join(dict.fromkeys(line.split(", seconds")[0] for _, _, line in found.values()))
    times = " | ".join(f"{epoch:.3g} ({whole:.1f})" for epoch, whole, _ in found.values())
    return f"| {labelled(program)} | {times} | {ratio} | {reached} |"


if __name__ == "__main__":
    main()
