"""Run each program under phintys and under Theano, in turns, and print a table of the seconds of an epoch.

    python compare.py --theano PYTHON [--rounds 3] [PROGRAM ...]

PYTHON is an interpreter that has Theano 1.0.5; the interpreter that runs this file has phintys. The shortest epoch of
all rounds counts; in brackets the seconds of that run, imports and compilation included. What each program reached is
named once if both reached the same. Theano's first run compiles C, which takes minutes; its cache is used later.
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
            "slot_filling", "hybrid_monte_carlo", "layers"]
EPOCHS = {"hybrid_monte_carlo": 100, "lstm": 5}


def measured(command, program, epochs):
    """Seconds of an epoch, seconds of the whole program, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run([*command, str(FOLDER / f"{program}.py"), "--epochs", str(epochs)], capture_output=True,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    whole = time.perf_counter() - start
    if done.returncode:
        return float("inf"), whole, done.stderr.strip().splitlines()[-1]
    line = done.stdout.strip().splitlines()[-1]
    return float(re.search(r"seconds (?:an epoch|a move) ([0-9.]+)", line).group(1)), whole, line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theano")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    options = parser.parse_args()
    commands = {"phintys": [sys.executable, "-m", "phintys.as_theano"]}
    if options.theano:
        commands["Theano"] = [options.theano]
    print("| program |", " | ".join(f"{name}, s (whole program)" for name in commands), "| times as fast | reached |")
    print("|---" * (len(commands) + 3) + "|")
    for program in options.programs:
        found = {}
        for _ in range(options.rounds):
            for name, command in commands.items():
                result = measured(command, program, EPOCHS.get(program, 2))
                found[name] = min(found.get(name, result), result)
        print(row(program, found), flush=True)


def row(program, found):
    """A row of the table: seconds of an epoch, how many times as fast, and what each library's program printed."""
    seconds = [epoch for epoch, _, _ in found.values()]
    ratio = f"{seconds[1] / seconds[0]:.1f}" if len(seconds) == 2 else ""
    reached = "; ".join(dict.fromkeys(line.split(", seconds")[0] for _, _, line in found.values()))
    times = " | ".join(f"{epoch:.3g} ({whole:.1f})" for epoch, whole, _ in found.values())
    return f"| `{program}.py` | {times} | {ratio} | {reached} |"


if __name__ == "__main__":
    main()
