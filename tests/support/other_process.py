"""Another process that runs lines of Python, with a shared variable as ``w``; for ``test_elsewhere``.

    python tests/support/other_process.py                                   # lines by stdin, answers by stdout
    mpirun -n 2 python -m mpi4py tests/support/other_process.py FILE        # process 0 runs the tests of a file
"""
import pickle
import subprocess
import sys

import numpy

import phintys
import phintys.tensor as T


def serve(receive, send):
    """Run what is received, until there is no more, and send the value of the last line or an error."""
    names = {"numpy": numpy, "phintys": phintys, "T": T}
    while True:
        try:
            given, text = receive()
        except EOFError:
            break
        names.update(given)
        try:
            *before, last = text.split("; ")
            exec("; ".join(before), names)
            answer = eval(last, names)
        except Exception as error:
            answer = error
        send(answer)


class Other:
    """Another process, here."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-I", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, text, **given):
        """The value of an expression there, after statements."""
        self.begin(text, **given)
        return self.answer()

    def begin(self, text, **given):
        """Start that."""
        pickle.dump((given, text), self.process.stdin)
        self.process.stdin.flush()

    def answer(self):
        """Its value."""
        found = pickle.load(self.process.stdout)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self, code=0):
        """Wait for its end."""
        self.process.stdin.close()
        assert self.process.wait(30) == code
        self.process.stdout.close()


class OfMPI(Other):
    """Process 1 of two processes of MPI."""

    def __init__(self):
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD

    def begin(self, text, **given):
        """Start that."""
        self.comm.send((given, text), 1)

    def answer(self):
        """Its value."""
        found = self.comm.recv(source=1)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self, code=0):
        """It serves the next tests, too."""


def of_stdin():
    """Serve the process that started this one."""
    lines, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr

    def send(answer):
        pickle.dump(answer, answers)
        answers.flush()

    serve(lambda: pickle.load(lines), send)


def of_mpi(file):
    """Run the tests of a file in process 0, served by process 1."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank:
        def receive():
            found = comm.recv()
            if found is None:
                raise EOFError
            return found

        serve(receive, lambda answer: comm.send(answer, 0))
    else:
        import pytest

        code = pytest.main(["-q", "-p", "no:cacheprovider", "-n", "0", file])
        comm.send(None, 1)
        assert code == 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        of_mpi(sys.argv[1])
    else:
        of_stdin()
