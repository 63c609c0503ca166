"""``config``: the options of phintys, read from ``PHINTYS_FLAGS`` and changed at run time.

``OPTIONS`` is the table of all options: name, default, kind, description. A dotted name is an attribute of a section
(``config.blas.ldflags``). Values are stored as plain attributes, so that reading one costs as much as reading any
attribute; setting one checks it and then calls the functions registered with ``config.on_change``. Unknown names raise
AttributeError.

``change_flags`` changes options for one thread. Meanwhile such an option is not a plain attribute: reading it looks up
whether the thread has a separate value. Options that running programs follow (``on_change``) have one value for the
whole process.
"""
from __future__ import annotations

import os
import re
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any

from phintys.graph.public_names import at_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TRUE_WORDS, FALSE_WORDS = ("True", "true", "1"), ("False", "false", "0")


LARGEST = 2 ** 31 - 1           # the C code stores numbers of threads, nodes, mebibytes, ... as int


def boolean(value: int | str) -> bool:
    """Convert to True or False; Theano's words for them are accepted."""
    if isinstance(value, str):
        if value in TRUE_WORDS or value in FALSE_WORDS:
            return value in TRUE_WORDS
    elif value in (True, False):
        return bool(value)
    raise ValueError("expected True or False")


def integer(value: float | str) -> int:
    """A whole number."""
    try:
        if int(value) == float(value):
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError("expected a whole number, in digits")


def count(value: float | str, least: int = 0) -> int:
    """A whole number that is not negative."""
    if not least <= integer(value) <= LARGEST:
        raise ValueError(f"expected a whole number, at least {least} and at most {LARGEST}")
    return integer(value)


def ratio(value: float | str) -> float:
    """A number above 0."""
    if not float(value) > 0:
        raise ValueError("expected a number above 0")
    return float(value)


def share(value: float | str) -> float:
    """A number that is not negative."""
    if not float(value) >= 0:
        raise ValueError("expected a number, at least 0")
    return float(value)


def bytes_or_share(value: float | str) -> int:
    """A number of bytes, or below 1 a share of the machine's memory."""
    try:
        number = -1 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < float("inf"):
        raise ValueError("expected a number of bytes, or a share of the machine's memory below 1")
    return int(number) if number >= 1 else int(number * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def positive(value: int | str) -> int:
    """A whole number above 0."""
    return count(value, 1)


def text(value: int | str) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def boolean_or_plan(value: int | str) -> bool | str:
    """True, False or ``plan``."""
    try:
        return value if isinstance(value, str) and value == "plan" else boolean(value)
    except ValueError:
        raise ValueError("expected True, False or 'plan'") from None


def boolean_or_auto(value: str) -> str:
    """True, False or ``auto``."""
    try:
        return value if isinstance(value, str) and value == "auto" else boolean(value)
    except ValueError:
        raise ValueError("expected True, False or 'auto'") from None


def object_or_name(value: str | None) -> str:
    """A name, or an object that the user made (a Mode, a linker, an optimizer)."""
    if value is None or isinstance(value, (bool, int, float, list)):
        raise ValueError("expected a name or a Mode")
    return value


def seed(value: int | str) -> int | str:
    """A whole number, or ``random``."""
    return value if value == "random" else integer(value)


def one_of(*allowed: Any) -> Callable[..., Any]:
    """Return a kind that accepts only these words."""
    def choice(value):
        if value not in allowed:
            raise ValueError(f"expected one of {', '.join(map(repr, allowed))}")
        return value
    choice.__doc__ = "One of " + ", ".join(allowed) + "."
    return choice


def floating_dtype(value: str) -> str:
    """``float64``, ``float32`` or ``float16``; the number of bits alone is accepted, too."""
    return FLOATS({"64": "float64", "32": "float32", "16": "float16"}.get(value, value))


def device_name(value: str) -> str:
    """``cpu``, ``cuda``, or ``cuda`` with the number of a device."""
    name = "cuda" if value == "gpu" else value
    if name != "cpu" and not (isinstance(name, str) and re.fullmatch(r"cuda\d*", name)):
        raise ValueError("expected 'cpu', 'cuda', or 'cuda0', 'cuda1', ...")
    return name


def flag_or_none(value: str | None) -> Any:
    """True, False or None."""
    return None if value in (None, "None") else boolean(value)


FLOATS = one_of("float64", "float32", "float16")
TEST_VALUE_ACTIONS = one_of("off", "warn", "raise", "ignore", "pdb")
ERROR_ACTIONS = one_of("warn", "raise", "pdb", "ignore")
NUMPY_ERROR_ACTIONS = one_of("None", "all", "call", "ignore", "log", "print", "raise", "warn")

# name, default, kind, what it does
OPTIONS = [
    ("floatX", "float64", floating_dtype, "Dtype of Python floats, of constructors without a dtype, and of int / int."),
    ("cast_policy", "custom", one_of("custom", "numpy+floatX"), "How the dtype of mixed operands is chosen."),
    ("int_division", "int", one_of("int", "raise", "floatX"), "What x / y is for integers: floor, error, floatX."),
    ("theano_rules", False, boolean, "Follow Theano where phintys follows NumPy: x[:, None] has no dimension that the "
     "index does not name; NumPy converts variables, and lists of them, to arrays of objects; probabilities need not "
     "sum to 1. install_as_theano switches it on."),
    ("warn_float64", "ignore", one_of("ignore", "warn", "raise", "pdb"), "What to do when a float64 variable is made."),
    ("mode", "Mode", object_or_name, "Mode of functions without one: Mode, FAST_RUN, FAST_COMPILE, or an object."),
    ("optimizer", "o4", one_of("o4", "o3", "o2", "o1", "unsafe", "fast_run", "fast_compile", "merge", "None"),
     "Rewrites of mode Mode, from all to none."),
    ("optimizer_including", "", text, "Tags of rewrites to add, separated by ':'."),
    ("optimizer_excluding", "", text, "Tags of rewrites to leave out, separated by ':'."),
    ("optimizer_requiring", "", text, "Tags that a rewrite must have, separated by ':'."),
    ("optimizer_verbose", False, boolean, "Print every replacement that the optimizer makes."),
    ("math_rules", "theano", one_of("strict", "theano", "fast"), "The rewrites that functions compiled from now on may "
     "use: strict: those that keep overflow, underflow, NaN and errors as the graph as written has them; theano: "
     "all, but quotients and products under a power stay together, so that scaled norms do not overflow; fast: all. "
     "docs/rewrites.md says of each rewrite what it may change."),
    ("allow_gc", True, boolean_or_plan, "Memory of intermediate results: True: dropped at their last use; False: kept "
     "between calls; plan: shared by lifetime in one block, laid out for the shapes seen."),
    ("memory_limit", 0, bytes_or_share, "The bytes that the values of a call may take at once, or below 1 a share of "
     "the machine's memory; 0: any number. Functions compiled from now on compute values again instead of keeping them "
     "until the predicted peak fits, those first that take least time."),
    ("program_cache", "", text, "The folder in which the programs of functions are kept, so that later processes find "
     "them instead of compiling; empty: none. docs/guide/saved_programs.md says more."),
    ("program_cache_limit", 512, count, "MiB that the files in program_cache may take; those go first that were not "
     "used for the longest time."),
    ("plan_seconds", 2.0, share, "How long a layout for allow_gc=plan may be searched for, for new shapes, where "
     "simple orders do not reach the least possible size; 0: not at all."),
    ("check_plans", False, boolean, "Go through each layout for allow_gc=plan moment by moment, to find values that "
     "share memory."),
    ("kept_frames", 4, count, "How many sets of cells a function keeps for later calls; calls at the same time may use "
     "more."),
    ("math", "vector", one_of("vector", "numpy"), "The loops that compute exp, log, tanh and so on in functions "
     "compiled from now on: vector: the fastest ones, with errors of at most 4 ulp; numpy: NumPy's and SciPy's, with "
     "the bits that these give for arrays without gaps."),
    ("cpu", "native", one_of("native", "avx2", "baseline"), "The instruction sets that loops may use: native: all of "
     "the processor; avx2: at most AVX2; baseline: those of every processor of this kind. Kernels that are made from "
     "now on follow it, copies and random numbers at once. NumPy and SciPy do not read this option: see "
     "NPY_DISABLE_CPU_FEATURES."),
    ("workers", 0, count, "Threads that one call may use; 0: as many as there are usable cores."),
    ("pool_limit", 256, count, "MiB of freed memory that is kept for the next call."),
    ("stress", False, boolean, "Poison freed memory and never reuse it, to find errors."),
    ("guards", "none", one_of("none", "after", "before"), "Whether each block of memory, scratch memory included, is "
     "followed or preceded by a page that cannot be read or written, to find kernels that do so outside of a block; "
     "implies stress. Slow."),
    ("device", "cpu", device_name, "Where shared variables of float32 are stored, and therefore functions run: cpu, "
     "or a GPU, by pycuda: cuda, or cuda1 for the second one. See phintys.gpu."),
    ("gpu.compiler", "auto", one_of("auto", "nvrtc", "nvcc"), "The compiler of kernels for the device: nvrtc: the "
     "library of the package nvidia-cuda-nvrtc, or of a toolkit; nvcc: the program that gpu.nvcc names; auto: the "
     "first of these that is installed."),
    ("gpu.nvcc", "nvcc", text, "The program nvcc, by its name or path."),
    ("gpu.cache", "", text, "The folder of compiled kernels; by default one in the user's cache."),
    ("gpu.cublas", True, boolean, "Whether cuBLAS, if it is installed, multiplies matrices on the device; otherwise "
     "built-in kernels do."),
    ("gpu.cusolver", True, boolean, "Whether cuSOLVER and cuBLAS, if they are installed, factor matrices on the device "
     "and solve systems with them; otherwise, and for small matrices, built-in kernels do."),
    ("gpu.cudnn", True, boolean, "Whether cuDNN, if it is installed, computes convolutions on the device; otherwise "
     "built-in kernels do."),
    ("gpu.cufft", True, boolean, "Whether cuFFT, if it is installed, transforms many or long lines on the device; "
     "otherwise a built-in kernel does."),
    ("gpu.tf32", False, boolean, "Whether cuBLAS and cuDNN may round the factors of products and convolutions of "
     "float32 to TF32, which has 10 bits of mantissa: faster, and accurate to about 1e-3."),
    ("gpu.graphs", True, boolean, "Whether the device's work is collected and, when it repeats, replayed as a CUDA "
     "graph; otherwise each kernel is launched at once, and errors name the node."),
    ("gpu.warn_host_ops", "warn", one_of("ignore", "warn", "raise", "pdb"), "What to do about ops without a kernel for "
     "the device, which run on the host and need transfers: a function tells of all of them at once."),
    ("on_unused_input", "raise", one_of("raise", "warn", "ignore"), "What to do about inputs that are not needed."),
    ("on_opt_error", "warn", ERROR_ACTIONS, "What to do when a rewrite fails."),
    ("optdb.max_use_ratio", 8.0, ratio, "The largest number of times that an EquilibriumOptimizer applies each of its "
     "parts, as a multiple of the number of nodes."),
    ("optdb.position_cutoff", float("inf"), ratio, "The position at which a SequenceDB stops."),
    ("compute_test_value", "off", TEST_VALUE_ACTIONS, "Run ops on test values while a graph is built."),
    ("print_test_value", False, boolean, "Show test values when a variable is printed."),
    ("pickle_test_value", True, boolean, "Pickle test values with their variables."),
    ("exception_verbosity", "low", one_of("low", "high"), "How much errors at run time say about the graph."),
    ("profile", False, boolean, "Measure every function without profile=False, and print all profiles at exit."),
    ("profile_memory", False, boolean, "Let profiles report memory and shapes."),
    ("profile_optimizer", False, boolean, "Let profiles list all stages of the rewrites, not only the slowest."),
    ("print_global_stats", False, boolean, "Measure every function, and print the sums at exit."),
    ("profiling.time_thunks", True, boolean, "Whether profiles time each instruction, or only whole calls."),
    ("profiling.n_apply", 20, positive, "How many nodes a profile lists."),
    ("profiling.n_ops", 20, positive, "How many ops and classes of ops a profile lists."),
    ("profiling.output_line_width", 512, positive, "The longest line in the tables of a profile."),
    ("profiling.min_memory_size", 1024, count, "Profiles list only pieces of memory of at least this number of bytes."),
    ("profiling.destination", "stderr", text, "Where profiles are printed at exit: stderr, stdout, or a file."),
    ("profiling.debugprint", False, boolean, "Let profiles print the graphs of their functions."),
    ("profiling.ignore_first_call", False, boolean, "Do not count the first call of each function."),
    ("conv.assert_shape", False, boolean, "Check the lengths given to convolutions by nodes of Assert, which raise "
     "AssertionError; otherwise the kernels check them, and raise ValueError."),
    ("ctc.root", "", text, "Folder of the library warp-ctc, with libwarpctc.so in build, lib or lib64."),
    ("scan.allow_gc", False, boolean, "Drop intermediate results between the steps of a scan."),
    ("unpickle_function", True, boolean, "Rebuild pickled functions; otherwise they become None."),
    ("scan.progress", "auto", boolean_or_auto, "Show a progress bar for loops that run longer than half a second; "
     "auto: longer than two seconds, and only if the standard error is a terminal."),
    ("compile.progress", "auto", boolean_or_auto, "Show a progress bar while functions are rewritten, if that takes "
     "longer than half a second; auto: longer than two seconds, and only if the standard error is a terminal."),
    ("deterministic", "default", one_of("default", "more"), "more: values at repeated positions are added in one "
     "order on a GPU, too, although atomic operations are faster. On the processor the order is always the same."),
    ("traceback.limit", 8, integer,
     "How many calls outside phintys variables and nodes store, at least up to the user's line; -1: up to 100."),
    ("DebugMode.patience", 2, positive, "How often DebugMode optimises a graph, to check that the steps are the same."),
    ("DebugMode.check_c", True, boolean, "Whether DebugMode runs kernels where there is a perform."),
    ("DebugMode.check_py", True, boolean, "Whether DebugMode runs perform where there is a kernel."),
    ("DebugMode.check_finite", True, boolean, "Whether NaN and infinities are errors in DebugMode."),
    ("DebugMode.check_strides", 0, count, "What DebugMode does about different strides: 0 nothing, 1 warn, 2 raise."),
    ("DebugMode.check_preallocated_output", "", text,
     "Layouts of the arrays that perform finds in its storage in DebugMode, separated by ':'; ALL for all."),
    ("DebugMode.check_preallocated_output_ndim", 4, count, "The largest rank for which DebugMode tries these layouts."),
    ("NanGuardMode.nan_is_error", True, boolean, "Whether NanGuardMode reports NaN."),
    ("NanGuardMode.inf_is_error", True, boolean, "Whether NanGuardMode reports infinities."),
    ("NanGuardMode.big_is_error", True, boolean, "Whether NanGuardMode reports values above 1e10."),
    ("NanGuardMode.action", "raise", one_of("raise", "warn", "pdb"), "What NanGuardMode does about such values."),
]
# Theano's options that are accepted and have no effect: names, default, kind, why.
ACCEPTED = [
    ("linker", "vm", object_or_name, "a name such as vm_nogc also decides allow_gc"),
    ("on_shape_error", "warn", one_of("warn", "raise"), "see on_opt_error"),
    ("cycle_detection", "regular", one_of("regular", "fast"), "there is one way to find cycles"),
    ("compute_test_value_opt", "off", TEST_VALUE_ACTIONS, "rewrites compute no test values"),
    ("profiling.min_peak_memory", False, boolean,
     "memory reports always give the least memory that the order of instructions needs"),
    ("cxx", "built-in kernels", text, "not empty, for programs that ask whether there is native code"),
    ("compiledir base_compiledir compiledir_format gcc.cxxflags", "", text, "nothing is compiled at run time"),
    ("compile.wait", 5, count, "nothing is compiled at run time"),
    ("compile.timeout", 120, count, "nothing is compiled at run time"),
    ("""
        cmodule.compilation_warning cmodule.debug cmodule.mac_framework_link cmodule.preload_cache
        cmodule.remove_gxx_opt cmodule.warn_no_version""", False, boolean, "nothing is compiled at run time"),
    ("cache_optimizations", False, boolean, "see program_cache"),
    ("blas.check_openmp", True, boolean, "BLAS comes with SciPy"),
    ("blas.ldflags", "", text, "BLAS comes with SciPy"),
    ("tensor.cmp_sloppy", 0, integer, "tolerances of comparisons are arguments"),
    ("tensor.local_elemwise_fusion", True, boolean, "exclude fusion from a mode instead"),
    ("tensor.insert_inplace_optimizer_validate_nb", -1, integer, "each mark of work in place is checked by itself"),
    ("gpu.local_elemwise_fusion gpuelemwise.sync gpuarray.single_stream", True, boolean, "see device"),
    ("gpuarray.preallocate", 0.0, share, "see device"),
    ("gpuarray.sched", "default", one_of("default", "multi", "single"), "see device"),
    ("gpuarray.sync magma.enabled", False, boolean, "see device"),
    ("""
        init_gpu_device contexts dnn.base_path dnn.bin_path dnn.include_path dnn.library_path magma.include_path
        magma.library_path dnn.conv.workmem dnn.conv.workmem_bwd""", "", text, "see device"),
    ("dnn.enabled", "auto", one_of("auto", "True", "False", "no_check"), "see device"),
    ("dnn.conv.algo_fwd", "small", text, "see device"),
    ("dnn.conv.algo_bwd_data dnn.conv.algo_bwd_filter dnn.conv.algo_bwd", "none", text, "see device"),
    ("dnn.conv.precision", "as_input_f32", text, "see device"),
    ("gpuarray.cache_path", "", text, "see gpu.cache"),
    ("cuda.root cuda.include_path", "", text, "see gpu.nvcc"),
    ("experimental.unpickle_gpu_on_cpu", False, boolean, "pickles have the values of the host"),
    ("openmp", False, boolean, "see workers"),
    ("openmp_elemwise_minsize", 200000, count, "see workers"),
    ("""
        lib.amdlibm scan.debug nocleanup warn.argmax_pushdown_bug warn.gpu_set_subtensor1 warn.gpusum_01_011_0111_bug
        warn.identify_1pexp_bug warn.inc_set_subtensor1 warn.inc_subtensor1_opt warn.reduce_join warn.round
        warn.signal_conv2d_interface warn.subtensor_merge_bug warn.sum_div_dimshuffle_bug warn.sum_sum_bug
        warn.vm_gc_bug""", False, boolean, ""),
    ("""
        experimental.local_alloc_elemwise experimental.local_alloc_elemwise_assert DebugMode.warn_input_not_reused""",
     True, boolean, ""),
    ("numpy.seterr_all", "ignore", NUMPY_ERROR_ACTIONS, ""),
    ("numpy.seterr_divide numpy.seterr_over numpy.seterr_under numpy.seterr_invalid", "None", NUMPY_ERROR_ACTIONS, ""),
    ("traceback.compile_limit", 0, integer, ""),
    ("scan.allow_output_prealloc", False, boolean, "how steps write into outputs is decided when a function is made"),
    ("vm.lazy", None, flag_or_none, "lazy branches are found when a function is made"),
    ("reoptimize_unpickled_function", False, boolean, "unpickled functions are compiled from the user's graph"),
    ("cmodule.age_thresh_use", 60 * 60 * 24 * 24, integer, "nothing is compiled"),
    ("metaopt.verbose", 0, integer, "one convolution is chosen by shapes"),
    ("metaopt.optimizer_excluding metaopt.optimizer_including", "", text, "see metaopt.verbose"),
    ("force_device", False, boolean, "there is one device"),
    ("print_active_device", True, boolean, "there is one device"),
    ("assert_no_cpu_op", "ignore", ERROR_ACTIONS, "there is one device"),
    ("check_input", True, boolean, "arguments are always checked"),
    ("check_stack_trace", "off", one_of("off", "log", "warn", "raise"),
     "rewrites always keep the record of where nodes were made"),
    ("unittests.rseed", 666, seed, "the seed of its tests"),
    ("warn.ignore_bug_before", "0.9", text, "no version had the bugs that options of warn name"),
]
OPTIONS += [(name, default, kind, f"Accepted for compatibility{': ' if why else ''}{why}.")
            for names, default, kind, why in ACCEPTED for name in names.split()]


def split_flags(text: str) -> Iterator[Any]:
    """Return pairs (name, value) of ``"name=value,name=value"``; a name alone has None."""
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        yield name.strip(), value.strip() if equals else None


class Section:
    """Options that share the first part of their dotted names."""

    def __init__(self, prefix: str, root: Config | None = None) -> None:
        self.__dict__.update(_prefix=prefix, _root=self if root is None else root)

    def __setattr__(self, name, value):
        self._root.set(self._prefix + name, value)

    def __getattr__(self, name):
        """Return an option of which some thread has a separate value."""
        full = self._prefix + name
        try:
            return _own.values[full]
        except (AttributeError, KeyError):
            return self._root.get(full)

    def __repr__(self):
        return f"<options {self._prefix}*>"

    def __reduce__(self):
        # As in Theano, a pickle has no values: it refers to the options of the process that loads it.
        if self._root is not config:
            raise TypeError("of options, only phintys.config and its sections can be copied and pickled")
        return options_of_process, (self._prefix,)


@at_home
def options_of_process(prefix: str) -> Section:
    """Return ``config``, or the section of the options whose names begin with ``prefix``; for pickles and copies."""
    section = config
    for part in prefix.split(".")[:-1]:
        if part not in section.__dict__:
            raise no_option(prefix[:-1])
        section = section.__dict__[part]
    return section


def no_option(name: str, hint: str = "") -> Any:
    """The error for an option that does not exist."""
    return AttributeError(f"config has no option {name!r}{hint}")


_own = threading.local()        # values: full name → value, of the options that this thread has changed for itself
_lock = threading.Lock()        # held while an option becomes one of threads or of all
NOT_CHANGED = object()


class Config(Section):
    """All options. Use the one instance, ``config``."""

    def __init__(self, options: Sequence[Sequence[Any]]) -> None:
        Section.__init__(self, "")
        self.__dict__.update(_options={name: (default, kind, doc) for name, default, kind, doc in options},
                             _reactions={}, _of_process=set(), _hidden={})
        for name, default, _, _ in options:
            section, attribute = self._section_of(name)
            section.__dict__[attribute] = default

    def _section_of(self, name):
        """Return the section that holds an option, and the attribute with its value."""
        *parts, attribute = name.split(".")
        section, prefix = self, ""
        for part in parts:
            prefix += part + "."
            section = section.__dict__.setdefault(part, Section(prefix, self))
        return section, attribute

    def _row(self, name):
        if name not in self._options:
            alike = self.alike(str(name))
            raise no_option(name, f"; did you mean {alike!r}?" if alike else "")
        return self._options[name]

    def alike(self, name: str) -> str | None:
        """Return the option whose name, or its last part, is nearest to a text; None if none is near."""
        from difflib import get_close_matches  # the import takes a millisecond

        known = {option.lower(): option for option in self._options}
        parts = {option.lower().rpartition(".")[2]: option for option in reversed(self._options)}
        for names in (known, parts):
            found = get_close_matches(name.lower(), names, n=1, cutoff=0.75)
            if found:
                return names[found[0]]
        return None

    def __contains__(self, name):
        return name in self._options

    def get(self, name: str) -> float | str | None:
        """Return the value of an option by its full name."""
        self._row(name)
        values = getattr(_own, "values", ())
        if name in values and self is config:
            return values[name]
        section, attribute = self._section_of(name)
        while True:                                 # it is in one of two dicts, and may move from one to the other
            if attribute in (where := section.__dict__):
                try:
                    return where[attribute]
                except KeyError:
                    continue
            hidden = self._hidden.get(name)
            if hidden is not None:
                return hidden[0]

    def set(self, name: str, value: float | str | None) -> None:
        """Set an option by its full name; inside ``change_flags`` of the same option, for this thread.

        Raises
        ------
        AttributeError
            If there is no such option.
        ValueError
            If the option cannot have this value.
        Exception
            The error of a function that was registered with `on_change`; the option then keeps its old value.
        """
        value = self._converted(name, value)
        values = getattr(_own, "values", ())
        if name in values and self is config:
            values[name] = value
            return
        section, attribute = self._section_of(name)
        with _lock:
            hidden = self._hidden.get(name)
            if hidden is not None:
                hidden[0] = value
                return
            before, section.__dict__[attribute] = section.__dict__.get(attribute, value), value
        try:
            self._tell(name, value)
        except BaseException:
            section.__dict__[attribute] = before
            raise

    def _converted(self, name, value):
        try:
            return self._row(name)[1](value)
        except ValueError as error:
            raise ValueError(f"config.{name} cannot be {value!r}: {error}") from None

    def _tell(self, name, value):
        for reaction in self._reactions.get(name, ()):
            reaction(value)

    # ---- values of threads -------------------------------------------------------------------------------------------
    def _enter(self, name, value):
        """Give this thread a separate value of an option; return what `_leave` needs."""
        if name in self._of_process:
            before = self.get(name)
            self.set(name, value)
            return before
        value = self._converted(name, value)
        section, attribute = self._section_of(name)
        with _lock:
            first = name not in self._hidden
            if first:
                self._hidden[name] = [section.__dict__[attribute], 0]
            self._hidden[name][1] += 1
            values = _own.__dict__.setdefault("values", {})
            before, values[name] = values.get(name, NOT_CHANGED), value
            section.__dict__.pop(attribute, None)
        if first:
            self._tell(name, None)
        return before

    def _leave(self, name, before):
        """Restore the value that this thread had when it entered."""
        if name in self._of_process:
            self.set(name, before)
            return
        section, attribute = self._section_of(name)
        with _lock:
            if before is NOT_CHANGED:
                del _own.values[name]
            else:
                _own.values[name] = before
            hidden = self._hidden[name]
            hidden[1] -= 1
            last = hidden[1] == 0
            if last:
                section.__dict__[attribute] = hidden[0]
                del self._hidden[name]
        if last:
            self._tell(name, hidden[0])

    def add(self, name: str, default: int, kind: Callable[..., Any], doc: str) -> None:
        """Declare an option.

        Parameters
        ----------
        name : str
            Full name.
        default : object
        kind : callable
            Converts a given object to the option's value; raises ``ValueError`` if it is invalid.
        doc : str

        Raises
        ------
        AttributeError
            If the name is taken.
        TypeError
            If a part of the name before a dot is an option.
        """
        parts = name.split(".")
        for length in range(1, len(parts)):
            if ".".join(parts[:length]) in self._options:
                raise TypeError(f"config.{name}: config.{'.'.join(parts[:length])} is an option, not a section")
        section, attribute = self._section_of(name)
        if name in self._options or attribute in section.__dict__ or hasattr(type(section), attribute):
            raise AttributeError(f"config.{name}: This name is already taken")
        self._options[name] = default, kind, doc
        section.__dict__[attribute] = default

    def on_change(self, name: str, function: Callable[..., Any], of_process: bool = True) -> None:
        """Call ``function(value)`` now, and whenever the option is set.

        Parameters
        ----------
        name : str
        function : callable
        of_process : bool
            All threads have one value of the option, also in ``change_flags``. Otherwise the function gets None while
            threads may have different values.
        """
        self._row(name)
        if of_process:
            self._of_process.add(name)
        self._reactions.setdefault(name, []).append(function)
        function(self.get(name))

    def change_flags(self, *arguments: Any, **values: Any) -> change_flags:
        """Do the same as the function ``change_flags``."""
        return change_flags(*arguments, **values)

    def read_flags(self, flags: str) -> None:
        """Set options from ``"name=value,name=value"``, as in ``PHINTYS_FLAGS``; a name alone switches an option on.

        Raises
        ------
        ValueError
            If a name is unknown, a value is invalid, or an option that is not a switch has no ``=``. No option is
            changed then.
        """
        pairs = []
        try:
            for name, value in split_flags(flags):
                if value is None:
                    if self._row(name)[1] not in (boolean, boolean_or_plan, boolean_or_auto):
                        raise ValueError(f"expected name=value, not {name!r}")
                    value = True
                self._converted(name, value)
                pairs.append((name, value))
            for name, value in pairs:
                self.set(name, value)
        except (AttributeError, ValueError) as error:
            raise ValueError(f"PHINTYS_FLAGS: {error}") from None

    def __repr__(self):
        return config_doc()


config = Config(OPTIONS)
config.read_flags(os.environ.get("PHINTYS_FLAGS", ""))


class change_flags:
    """A context manager, and a decorator of functions, that sets options temporarily, for the thread that enters it.

    Other threads, and threads that are started inside, are not affected. Options that running programs follow are
    changed for all threads: cast_policy, cpu, device, gpu.graphs, gpu.tf32, guards, kept_frames, math,
    pool_limit, scan.progress, stress, traceback.limit.

    Parameters
    ----------
    changes : dict, optional
        Full name to value; needed for dotted names.
    **values
        Name to value.

    Raises
    ------
    AttributeError
        If there is no such option.
    ValueError
        If an option cannot have the value (when the block is entered); no option is changed then.

    Examples
    --------
    >>> with phintys.change_flags(floatX="float32"):
    ...     x = T.vector("x")
    >>> x.dtype
    'float32'
    """

    def __init__(self, changes: Sequence[Any] | Mapping[Any, Any] = (), **values: Any) -> None:
        if isinstance(changes, str):
            raise TypeError(f"change_flags takes a dict, or name=value, got {changes!r}: config.read_flags reads text")
        self._new = dict(changes, **values)
        self._old = {}                              # thread → a stack: it may be entered again inside its block
        for name in self._new:
            config.get(name)

    def __enter__(self):
        old = {}
        self._old.setdefault(threading.get_ident(), []).append(old)
        try:
            for name, value in self._new.items():
                old[name] = config._enter(name, value)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        stack = self._old.get(threading.get_ident())
        if not stack:
            raise RuntimeError("change_flags must be left in the thread that entered it")
        for name, before in reversed(stack.pop().items()):
            config._leave(name, before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_flags(*arguments, **keywords):
            with change_flags(self._new):
                return function(*arguments, **keywords)
        return with_flags


def config_doc() -> str:
    """Describe all options, one per line: name, value, default if it differs, description."""
    lines = []
    for name, (default, _, doc) in config._options.items():
        value = config.get(name)
        note = "" if value == default else f" (default {default!r})"
        lines.append(f"{name} = {value!r}{note}: {doc}")
    return "\n".join(lines)
