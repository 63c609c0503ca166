"""The cost of ``import phintys`` for a program that has imported NumPy: CPU seconds and modules."""
import resource
import subprocess
import sys

IMPORT = "import numpy; {0}"
PHINTYS = "import phintys, phintys.tensor as T"


def cpu_seconds(statement):
    """Return the smallest user and system CPU time of several interpreters that run the statement."""
    seconds = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", IMPORT.format(statement)], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def track_cpu_seconds_on_top_of_numpy():
    return cpu_seconds(PHINTYS) - cpu_seconds("pass")


def track_modules_on_top_of_numpy():
    count = f"import sys; before = len(sys.modules); {PHINTYS}; print(len(sys.modules) - before)"
    output = subprocess.run([sys.executable, "-c", IMPORT.format(count)], check=True, capture_output=True, text=True)
    return int(output.stdout)


track_cpu_seconds_on_top_of_numpy.unit = "seconds"
track_modules_on_top_of_numpy.unit = "modules"
