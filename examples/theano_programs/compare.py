"""Run each program under phintys and under Theano, in turns, and print the seconds of an epoch.

    python compare.py --theano PYTHON [--rounds 3] [PROGRAM ...]

PYTHON is an interpreter that has Theano 1.0.5; the interpreter that runs this file has phintys. The shortest epoch of
all rounds counts. Theano's first run compiles C, which takes minutes; its cache is used later.
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
        return float("nan"), whole, done.stderr.strip().splitlines()[-1]
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
    for program in options.programs:
        found = {}
        for _ in range(options.rounds):
            for name, command in commands.items():
                result = measured(command, program, EPOCHS.get(program, 2))
                found[name] = min(found.get(name, result), result)
        texts = [f"{name} {epoch:.5f} ({whole:.1f} in all)" for name, (epoch, whole, _) in found.items()]
        print(f"{program:<30} {', '.join(texts)}   {found['phintys'][2]}", flush=True)


if __name__ == "__main__":
    main()
