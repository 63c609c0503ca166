"""What the figures share: rounds in which competitors take turns, what was found, and a limit for each figure."""
import json
import os
import signal
import traceback
from time import perf_counter

import numpy

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
FLOAT = numpy.float32


def library(name):
    """A peer, or None if it is not installed or sees no GPU. Products are in float32 where nothing asks for TF32."""
    try:
        if name == "jax":
            import jax
            jax.config.update("jax_default_matmul_precision", "float32")
            return jax if jax.default_backend() == "gpu" else None
        import torch
        torch.backends.cuda.matmul.allow_tf32 = False
        return torch if torch.cuda.is_available() else None
    except Exception:
        return None


class TooLate(Exception):
    """A figure took longer than it may."""


class Runs:
    """What is measured in turns: name → a function that does one step, and one that waits for the device."""

    def __init__(self, small, peers=(), seconds=1e9, out=None):
        self.small, self.peers, self.out = small, peers, out
        self.found, self.failed = {}, {}
        self.until = perf_counter() + seconds

    def left(self):
        """Seconds until all must have ended."""
        return self.until - perf_counter()

    def peer(self, name):
        """The library to compare with, or None."""
        return library(name) if name in self.peers else None

    def guarded(self, name, function, seconds):
        """Run a figure for so long at most; what it raises is printed and kept, and the next figure follows."""
        def on_alarm(number, frame):
            raise TooLate(f"{name} took too long")

        signal.signal(signal.SIGALRM, on_alarm)
        signal.alarm(max(1, int(min(seconds, self.left()))))
        try:
            function()
        except Exception as error:
            lines = traceback.format_exc().strip().splitlines()
            first = (str(error).splitlines() or [""])[0]
            print(f"FAILED {name}: {type(error).__name__}: {first[:300]}", *lines[-6:], sep="\n    ", flush=True)
            self.failed[name] = "\n".join(lines[-12:])
        finally:
            signal.alarm(0)

    def save(self, device):
        """Write what was found so far, so that nothing is lost when the time is up."""
        if self.out:
            with open(f"{self.out}.new", "w") as file:
                json.dump({"device": repr(device), "figures": self.found, "failed": self.failed}, file, indent=1)
            os.replace(f"{self.out}.new", self.out)

    def minima(self, competitors, seconds=0.35):
        """The least time of a step of each, in seconds; the first call of each is in ``self.first``."""
        rounds, best, self.first = (1 if self.small else 7), {}, {}
        counts = {}
        for name, (step, wait) in competitors.items():
            start = perf_counter()
            step()
            wait()
            self.first[name] = perf_counter() - start
            for _ in range(1 if self.small else 20):
                step()
            wait()
            start = perf_counter()
            step()
            wait()
            one = max(perf_counter() - start, 1e-6)
            counts[name] = 1 if self.small else max(3, min(2000, int(seconds / rounds / one)))
        for _ in range(rounds):
            for name, (step, wait) in competitors.items():
                start = perf_counter()
                for _ in range(counts[name]):
                    step()
                wait()
                best[name] = min(best.get(name, 1e9), (perf_counter() - start) / counts[name])
        return best

    def note(self, figure, row, **numbers):
        self.found.setdefault(figure, {})[row] = numbers
        print(f"| {figure} | {row} | " + " | ".join([f"{name} {value:.6g}" for name, value in numbers.items()]) + " |",
              flush=True)


