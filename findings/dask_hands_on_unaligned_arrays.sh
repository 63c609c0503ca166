#!/bin/bash
# Dask's distributed 2026.8.0: an array that a task gets as an argument is unaligned in the worker, although it was
# aligned in the client: it is a view of the message that the worker received. NumPy copies such arrays where it must;
# compiled code that asks for aligned memory refuses them.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install "distributed==2026.8.0" "dask==2026.8.0" numpy==2.4.6
shows "client: aligned True; worker: aligned False, the same numbers True" <<'PROGRAM'
import numpy
from distributed import Client

def look(array):
    return bool(array.flags.aligned), float(array.sum())

if __name__ == "__main__":
    array = numpy.arange(1000.0)
    with Client(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        aligned, total = client.submit(look, array).result()
    print(f"client: aligned {array.flags.aligned}; worker: aligned {aligned}, the same numbers {total == array.sum()}")
PROGRAM
