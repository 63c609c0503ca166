"""All figures of the GPU in one run, on a machine with one: ``python -I tests/gpu/measure.py [--only NAME ...]``.

Prints a row for each figure, with what PyTorch and JAX need for the same where they are installed, and writes all
numbers to the file ``--out`` after each figure. Times are minima over rounds in which the libraries take turns; all
work is waited for. Results are compared with those of PyTorch. A figure that fails, or takes too long, does not end
the others. Kernels are compiled anew, in a folder that is empty, so first calls have all that they cost; and once
more with the modules that are then on disk. ``--small`` runs everything once with tiny shapes, to see that it runs:
on the stand-in of the tests (``--stand-in``), where no number means anything.
"""
import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "figures"))
import kernels  # noqa: E402
import memory  # noqa: E402
import programs  # noqa: E402
from runs import Runs, library  # noqa: E402

# name → the function, and how many seconds it may take
FIGURES = {"bandwidth": (memory.bandwidth, 30), "launches": (programs.launches, 40), "latency": (programs.latency, 20),
           "classifiers": (programs.classifiers, 80), "minibatches": (programs.minibatches, 25),
           "kernels": (kernels.kernels, 1000), "loops": (programs.loops, 40), "recurrent": (programs.recurrent, 90),
           "images": (programs.images, 40), "products": (memory.products, 60), "transfers": (memory.transfers, 60)}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(FIGURES), default=list(FIGURES))
    parser.add_argument("--rows", nargs="*", help="of the single kernels: those whose names have one of these words")
    parser.add_argument("--peers", nargs="*", default=["torch", "jax"])
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no figure begins")
    parser.add_argument("--out", help="a file for all numbers, as JSON")
    return parser.parse_args()


def main():
    options = parsed()
    if options.stand_in:
        sys.path.insert(0, str(HERE))
        from conftest import find_device
        find_device()
    import phintys
    import phintys.tensor as T
    if not options.stand_in:
        phintys.config.gpu.cache = tempfile.mkdtemp()
    device = phintys.gpu.use(move_shared_to_gpu=False)
    runs = Runs(options.small, [name for name in options.peers if library(name)], options.seconds, options.out)
    runs.rows = options.rows
    print(f"{device}, cuBLAS: {device.has_cublas}; peers: {', '.join(runs.peers) or 'none'}", flush=True)
    for name in options.only:
        function, seconds = FIGURES[name]
        if runs.left() < 10:
            print(f"time is up before: {name}", flush=True)
            continue
        before = runs.left()
        runs.guarded(name, lambda: function(runs, phintys, T), seconds)
        print(f"-- {name}: {before - runs.left():.1f} s", flush=True)
        runs.save(device)
    print(f"figures: {len(runs.failed)} failed" + (f": {', '.join(runs.failed)}" if runs.failed else ""), flush=True)


if __name__ == "__main__":
    main()
