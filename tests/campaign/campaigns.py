"""The campaigns and what a unit of each does; a unit returns how many checks it made, and raises what it finds."""
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import warnings
from collections import namedtuple
from importlib import import_module
from importlib.util import find_spec

import native_mutants
import numpy
import random_batches
import random_branches
import random_derivatives
import random_exchanges
import random_layouts
import random_loops
import random_programs
from covering_programs import PROGRAMS, compiled
from kernel_cases import CASES, made
from long_kernels import LONG, KernelOp, called
from mutants import survivors_of
from sanitizers import FILES, run_file

import phintys
import phintys.tensor as T
from phintys import SharedVariable
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.machine.interpreter import interrupt_at_look
from phintys.vm.pool import fail_allocation, pool_statistics

Campaign = namedtuple("Campaign", "what unit count")
POLICIES = True, False, "plan"


def check_pytensor(seed):
    """A program of PyTensor, where it is installed."""
    if find_spec("pytensor"):
        import_module("random_pytensor").check(seed)


# ---- random programs -------------------------------------------------------------------------------------------------
def random_unit(number):
    """Four batches of programs; each tenth unit, ten programs of a generator that looks closer. A rewrite that fails
    is a find, not a warning."""
    checks = [random_programs.check, random_loops.check, random_layouts.run_session, random_branches.check,
              random_exchanges.check, random_derivatives.check, check_pytensor]
    with warnings.catch_warnings(), phintys.config.change_flags(on_opt_error="raise"):
        warnings.simplefilter("ignore")
        if number % 10:
            return sum(map(random_batches.check, range(4 * number, 4 * number + 4)))
        for seed in range(10 * number, 10 * number + 10):
            checks[number // 10 % len(checks)](seed)
    return 10


# ---- programs around each kernel -------------------------------------------------------------------------------------
class Checked:
    """A function with updates, what it computes, and whether a call that fails leaves all as it was."""

    def __init__(self, function, arguments, shared, comparable=True):
        self.function, self.arguments, self.shared, self.comparable = function, arguments, shared, comparable
        self.start = [variable.get_value() for variable in shared]
        self.expected = [self.results() for _ in range(2)][1]
        self.give_back()

    def restore(self):
        for variable, value in zip(self.shared, self.start):
            variable.set_value(value)

    def results(self):
        found = [numpy.array(result) for result in self.function(*self.arguments)]
        found += [value for value in map(SharedVariable.get_value, self.shared) if isinstance(value, numpy.ndarray)]
        self.restore()
        return found

    def give_back(self):
        self.function.free()
        gc.collect()

    def fails(self, prepare, clean, errors):
        """Whether a call raises; if so it has changed and kept nothing, and the next one computes what it should."""
        self.give_back()
        before = pool_statistics()["live_buffers"]
        prepare()
        try:
            self.function(*self.arguments)
            return False
        except errors:
            pass
        finally:
            clean()
        self.give_back()
        assert pool_statistics()["live_buffers"] == before, "a buffer is lost"
        for variable, value in zip(self.shared, self.start):
            assert not isinstance(value, numpy.ndarray) or numpy.array_equal(variable.get_value(), value), (
                "a shared value has changed")
        self.restore()
        if self.comparable:
            for one, other in zip(self.results(), self.expected):
                assert one.tobytes() == other.tobytes(), f"the next call computes {one}, not {other}"
        return True


class Subject(Checked):
    """A function that runs a kernel of the case table beside an update."""

    def __init__(self, number):
        kernel, inputs, _, _ = made(number // len(POLICIES))
        name, _, _, outputs = CASES[number // len(POLICIES)]
        arguments = [numpy.asarray(value) for value in inputs]
        variables = [TensorType(value.dtype.name, (False,) * value.ndim)() for value in arguments]
        results = KernelOp(kernel, outputs)(*variables)
        state = phintys.shared(numpy.arange(3.0))
        results = [*(results if isinstance(results, list) else [results]), T.exp(state)]
        function = phintys.function(variables, results, updates=[(state, T.tanh(state) + 1)], on_unused_input="ignore",
                                    mode=phintys.Mode(allow_gc=POLICIES[number % len(POLICIES)]))
        Checked.__init__(self, function, arguments, [state], name != "AllocEmptyKernel")


def subject_of(number):
    """A kernel in each policy, and behind all of these a program of the covering ones."""
    program = number - len(CASES) * len(POLICIES)
    if program < 0:
        return Subject(number)
    return Checked(*compiled(sorted(PROGRAMS)[program // len(POLICIES)], POLICIES[program % len(POLICIES)]))


def faults_unit(number):
    """Each allocation of the pool, each instruction and each allocation of Python fails in turn."""
    subject, checks = subject_of(number), 0
    while subject.fails(lambda: fail_allocation(checks + 1), lambda: fail_allocation(0), MemoryError):
        checks += 1
    subject.restore()
    for position in range(len(subject.function.program.instructions())):
        try:
            subject.function.fail_at(position)
        except IndexError:
            break                                   # from here on nothing can fail
        checks += subject.fails(lambda: None, lambda: subject.function.fail_at(None), RuntimeError)
        subject.restore()                           # it was in a branch that was not taken
    if find_spec("_testcapi") is None:
        return checks                               # CPython was built without its module for tests
    testcapi = import_module("_testcapi")
    position = quiet = 0
    while quiet < 3:
        failed = subject.fails(lambda: testcapi.set_nomemory(position, position + 1), testcapi.remove_mem_hooks,
                               MemoryError)
        subject.restore()
        quiet = 0 if failed else quiet + 1
        checks, position = checks + 1, position + 1
    return checks


def signals_unit(number):
    """Ctrl-C at the first looks that a long kernel makes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    state, stopped = phintys.shared(numpy.arange(3.0)), 0
    function, arguments = called(sorted(LONG)[number], updates=[(state, T.tanh(state) + 1)])
    for look in (1, 2, 3, 5, 8, 13):
        interrupt_at_look(look)
        try:
            function(*arguments)
        except KeyboardInterrupt:
            stopped += 1
            assert (state.get_value() == numpy.arange(3.0)).all(), "a shared variable has changed"
        finally:
            interrupt_at_look(0)
        state.set_value(numpy.arange(3.0))
    return stopped


# ---- processes and threads -------------------------------------------------------------------------------------------
ENDS = """
import os, sys, threading, time
sys.path.insert(0, {support!r})
import numpy, random_programs, phintys, phintys.tensor as T
x = T.dvector()
seed, way = {seed}, {way!r}
with phintys.change_flags(workers=2):
    f = phintys.function([x], [T.exp(T.tanh(x)), T.cumsum(x)[::-1]])
value = numpy.linspace(-1, 1, 400_000)
wanted = [result.tobytes() for result in f(value)]
def busy():
    while True:
        f(value)
for _ in range(2):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.01 * (seed % 7))
if way == "exit":
    sys.exit(0)
if way == "fork":
    child = os.fork()
    assert [result.tobytes() for result in f(value)] == wanted
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
if way == "spawn":
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(random_programs.check, (seed,)) is None
os._exit(0)
"""


def forks_unit(number):
    """A process with calls in flight forks, spawns, or ends."""
    way = ("exit", "fork", "spawn")[number % 3]
    text = ENDS.format(support=os.path.dirname(random_programs.__file__), seed=number, way=way)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{way}: {done.returncode}: {done.stderr[-1500:]}"
    return 1


def threads_unit(number):
    """Eight threads call the functions of one another; memory stays flat from one round to the next."""
    choose = random.Random(number)
    subjects = [Subject(choose.randrange(len(CASES) * len(POLICIES))) for _ in range(6)]
    wrong, rounds = [], 40

    def work(seed):
        order = random.Random(seed)
        for _ in range(rounds):
            subject = order.choice(subjects)
            found = [numpy.array(result) for result in subject.function(*subject.arguments)][:-1]
            if subject.comparable and any([one.tobytes() != other.tobytes()
                                           for one, other in zip(found, subject.expected)]):
                wrong.append(found)

    peaks = []
    for turn in range(3):
        threads = [threading.Thread(target=work, args=(100 * number + 10 * turn + seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert not wrong, wrong[0]
    assert peaks[2] - peaks[1] < 20_000, f"the process grew by {peaks[2] - peaks[1]} KiB"
    return 3 * 8 * rounds


# ---- a long life -----------------------------------------------------------------------------------------------------
LIVE, PAGES = [], []                 # of this process


def small_function(number):
    """A function with an update, of one of several forms."""
    x, state = T.dvector("x"), phintys.shared(numpy.zeros(3))
    result = [T.exp(x) + number, T.dot(x, x) * number, (x[::-1] * x).sum() - number, x[:2] + number][number % 4]
    return phintys.function([x], result, updates=[(state, state + x)]), state


def soak_unit(number):
    """100,000 calls of 2,000 live functions, and 50 functions made and dropped: memory stays flat behind the first
    units, shared variables hold the sums of all calls."""
    while len(LIVE) < 2000:
        LIVE.append([*small_function(len(LIVE)), 0])
    argument = numpy.array([0.5, 1.0, 2.0])
    for row in LIVE[number * 50 % 2000:][:50]:
        function, state, calls = row
        for _ in range(2000):
            function(argument)
        row[2] = calls + 2000
        assert (state.get_value() == row[2] * argument).all()
    for one in range(50):
        function, state = small_function(one + 50 * number)
        function(argument)
    del function, state
    gc.collect()
    with open("/proc/self/statm") as memory:
        PAGES.append(int(memory.read().split()[1]))
    grown = (PAGES[-1] - PAGES[min(2, len(PAGES) - 1)]) * resource.getpagesize()
    assert grown < 32 << 20, f"the process grew by {grown >> 20} MiB"
    return 50 * 2000 + 50


CAMPAIGNS = {
    "random": Campaign("programs of random ops, against NumPy (in long doubles, too) and PyTensor, in other "
                       "modes, threads, copies and files, with draws and other operands, first and second derivatives "
                       "between modes and against differences in long doubles", random_unit, None),
    "faults": Campaign("each allocation, of the pool and of Python, and each instruction fails, in programs of all "
                       "opcodes and around each kernel", faults_unit, (len(PROGRAMS) + len(CASES)) * len(POLICIES)),
    "signals": Campaign("Ctrl-C at a look of a long kernel, beside an update", signals_unit, len(LONG)),
    "forks": Campaign("processes with calls in flight fork, spawn and end", forks_unit, None),
    "threads": Campaign("eight threads and functions with updates; memory stays flat", threads_unit, None),
    "sanitizers": Campaign("test files under AddressSanitizer and UndefinedBehaviorSanitizer", run_file, len(FILES)),
    "soak": Campaign("calls of 2,000 live functions with updates, and functions made and dropped; memory stays flat",
                     soak_unit, None),
    "native": Campaign("a line of Cython or C is changed: does a test notice?", native_mutants.survivors_of, None),
    "mutants": Campaign("a line of Python is changed: does a test notice?", survivors_of, None),
}
