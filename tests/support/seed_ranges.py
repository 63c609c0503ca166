"""Long random runs from a shell: ``python tests/support/random_branches.py FIRST LAST``."""
import sys
import traceback


def main(check):
    """Call ``check(seed)`` for the seeds from FIRST up to LAST, which is left out; print those that fail."""
    first, last = map(int, sys.argv[1:])
    for seed in range(first, last):
        try:
            check(seed)
        except Exception:
            print(f"seed {seed}", flush=True)
            traceback.print_exc(limit=-2)
    print(f"seeds {first} to {last - 1} done", flush=True)
