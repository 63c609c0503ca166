"""Builds the extension modules of phintys.

The folders of the repository are mapped to one import name (``vm/`` is ``phintys.vm``, ``api/`` is ``phintys``), so
nothing but ``phintys`` is installed. Cython resolves ``cimport phintys.vm.abi`` by folder names, hence the links under
``build/cimport``. ``pyproject.toml`` lists what a wheel contains besides modules, ``MANIFEST.in`` what a source
distribution contains.

Modules share structs, vtables and opcode numbers, so a change of these requires that the modules are built again:
``sources_of`` returns the files that a module depends on. Four environment variables are read:

* ``PHINTYS_ONLY=ops.products.blas_kernel`` builds the named modules (comma separated) and those whose shared
  declarations changed after they were built; other modules are not touched. It is for work in the source tree.
* ``PHINTYS_DEBUG=1`` builds for a debugger: without optimisation, with macros.
* ``PHINTYS_SANITIZE=address`` builds with a sanitizer of the C compiler (``make stress``).
* ``PHINTYS_BUILD_TIMES=1`` builds everything anew below ``build/times``, one module at a time, and prints the CPU
  seconds that Cython and the C compiler took for each (``make build-times``).
"""
import functools
import gc
import itertools
import multiprocessing
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import Cython
import numpy
from Cython.Build import cythonize
from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.modified import newer_group

ROOT = Path(__file__).resolve().parent
PREREQUISITES = ROOT / ".ci" / "prerequisites"
FOLDERS = ("api", "graph", "vm", "ops", "optimizer", "gpu")
NATIVE_FOLDERS = ("graph", "vm", "ops", "optimizer", "gpu")
INCLUDED = {"gpu": ("ops", "vm")}      # folders below, whose headers are used through declarations of Cython
# Folders whose import name does not follow from their path. All others are ``phintys.`` and their path. What is in
# api/theano has the names that it would have in api; api/theano_finder.py finds it in a source tree.
RENAMED_FOLDERS = {"api": "phintys", "api/theano": "phintys"}
# Without -g0 the compiler spends a quarter of its time on debugging information that nobody reads: Python's own flags
# ask for it. Modules without loops in C are what Cython writes around calls of Python and of other modules: -O2 takes
# nearly twice as long as -O1 with the inlining of small functions, and calls of small programs are no shorter. What the
# rooms of vm/ that run programs call from one place is mostly what runs seldom: inlined, it makes the caller save more
# registers in each call.
COMPILE_ARGS = ["-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
                "-Wno-unused-function", "-Wno-psabi"]
LOOPS, GLUE = ["-O3"], ["-O1", "-finline-small-functions", "-fpartial-inlining", "-foptimize-sibling-calls"]
MACHINE = ["-O2", "-fno-inline-functions-called-once"]
# Clang refuses flags that it does not know, and its -O1 inlines little.
FOR_CLANG = {"-O1": "-O2", "-finline-small-functions": None, "-fpartial-inlining": None,
             "-fno-inline-functions-called-once": None, "-fvect-cost-model=dynamic": None}
ROOMS_THAT_RUN = {"containers", "machine", "loops", "callables"}
# Modules with loops in C that gain nothing from -O3, measured; most of their code is glue. Others lose without: sums
# take 2 to 6 times as long, selections by a mask twice, searches in sorted values, products of integers and random
# numbers up to twice, casts of float64 1.3 times, `x[v, w]` 1.1 times.
VECTORIZED = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
MOSTLY_GLUE = {"ops.convolution.convolution_kernel", "ops.elementwise.arithmetic_tree",
               "ops.elementwise.block_code", "ops.indexing.choose_kernel",
               "ops.indexing.subtensor_kernel", "ops.elementwise.register_code", "ops.nnet.batch_normalization_kernel",
               "ops.random.draw_kernel", "ops.random.orders_kernel", "ops.sorting.sorting_kernel"}
LINK_ARGS = ["-pthread"]
if sys.platform == "win32":             # POSIX by mingw-w64's compilers
    COMPILE_ARGS += ["-Ivm/windows", "-include", "vm/windows/posix.h"]
# What modules link with that use NumPy's distributions: static libraries of NumPy, made for this use.
NUMPY_RANDOM = re.compile(r"\bops\.native\.distributions\b")
NUMPY_FOLDER = Path(numpy.__file__).parent
NUMPY_LIBRARIES = {"libraries": ["npyrandom", "npymath", "m"],
                   "library_dirs": [str(NUMPY_FOLDER / "random" / "lib"), str(NUMPY_FOLDER / "_core" / "lib")]}
if os.environ.get("PHINTYS_DEBUG"):
    COMPILE_ARGS += ["-O0", "-g3"]
SANITIZER = os.environ.get("PHINTYS_SANITIZE")
if SANITIZER:
    COMPILE_ARGS += [f"-fsanitize={SANITIZER}", "-fno-omit-frame-pointer", "-g", "-O1"]
    LINK_ARGS.append(f"-fsanitize={SANITIZER}")
DIRECTIVES = {"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
              "initializedcheck": False,
              # The lines of Cython would be a fifth of the C code; `make annotate` shows them.
              "emit_code_comments": False,
              # Plain functions, and no methods for pickling that nothing calls: a sixth of the C code.
              "binding": False, "auto_pickle": False,
              # `help` and `inspect.signature` read the signature of a plain function from its text.
              "embedsignature": True, "embedsignature.format": "clinic"}


RELEASED_TWICE = """
    int result = PyList_Append(list, x);
    Py_DECREF(x);
    return result;
"""
RELEASED_BY_THE_CALLER = """
    if (PyList_Append(list, x)) return -1;
    Py_DECREF(x);
    return 0;
"""

# What modules share: structs, vtables, opcode numbers, and the C structs that declarations take from headers.
DECLARATIONS = {".pxd", ".pxi", ".h"}
TRANSLATED = {".pyx", ".pxd", ".pxi"}
# An included file (that of LOOPS, too, which another one includes), or the module and members of a ``cimport``;
# members may be in brackets, on several lines.
NAMED = re.compile(r'(?:\binclude\s*|\bextern\s+from\s+|\bdefine\s+LOOPS\w*\s+)"([^"]+)"|'
                   r'^\s*(?:from\s+([\w.]+)\s+)?cimport\s+(\([^)]*\)|[^\n]*)', re.MULTILINE)


def link_cimport_root():
    """Make ``build/cimport/phintys/vm`` and so on links to the source folders, and ``numpy.pxd`` one to what
    the modules use of NumPy; return the root for ``include_path``."""
    root = ROOT / "build" / "cimport"
    package = root / "phintys"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    for folder in NATIVE_FOLDERS:
        link = package / folder
        if link.is_symlink():
            link.unlink()
        link.symlink_to(ROOT / folder, target_is_directory=True)
    numpy_link = root / "numpy.pxd"                             # found before the file of this name in NumPy
    numpy_link.unlink(missing_ok=True)
    numpy_link.symlink_to(ROOT / "vm" / "numpy_api.pxd")
    return root


def write_opcodes(root):
    """Write the interpreter's opcode numbers from the table in ``vm/opcodes.py``."""
    table = {}
    exec((ROOT / "vm" / "opcodes.py").read_text(), table)
    target, text = root / "opcodes.pxi", table["cython_enum"]()
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def import_name(path):
    """Return the import name: ``ops/shape/join.py`` → ``phintys.ops.shape.join``, with exceptions in ``FOLDERS``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    for depth in range(len(parts), 0, -1):
        if "/".join(parts[:depth]) in RENAMED_FOLDERS:
            return ".".join([RENAMED_FOLDERS["/".join(parts[:depth])], *parts[depth:]])
    return ".".join(["phintys", *parts])


def package_folders():
    """Map import names to folders, for every folder with an ``__init__.py``."""
    folders = [path.parent for folder in FOLDERS for path in sorted((ROOT / folder).rglob("__init__.py"))]
    return {import_name(folder): str(folder.relative_to(ROOT)) for folder in folders}


def names_in(path):
    """Yield what a file of Cython or C may include or ``cimport``: paths relative to an include folder."""
    for included, module, members in NAMED.findall(path.read_text()):
        if included:
            yield included
        elif module:                                            # ``from phintys.vm cimport pool`` names a module, too
            folder = module.replace(".", "/")
            yield from (f"{folder}.pxd", *(f"{folder}/{member}.pxd" for member in re.findall(r"\w+", members)))
        else:
            yield from (name.replace(".", "/") + ".pxd" for name in re.findall(r"[\w.]+", members))


@functools.cache
def named_files(path, cimport_root):
    """Return the files of this tree that a file names.

    A name is looked up as Cython and the C compiler do: next to the file, then in the include folders.
    """
    folders = [path.parent, cimport_root, *(ROOT / folder for folder in NATIVE_FOLDERS)]
    return {file.resolve() for name in names_in(path) for folder in folders if (file := folder / name).is_file()}


def sources_of(source, cimport_root):
    """Return all files of this tree that a module depends on, directly or not, with ``source`` and its ``.pxd``."""
    found, waiting = set(), {path.resolve() for path in (source, source.with_suffix(".pxd")) if path.is_file()}
    while waiting:
        found |= waiting
        waiting = {file for path in waiting for file in named_files(path, cimport_root)} - found
    return found


def is_older_than_its_declarations(source, sources):
    """Return whether the source tree has a built module that is older than the structs and opcodes it depends on."""
    module = source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    if not module.exists():
        return False                                            # importing it fails: no wrong struct is used
    built = module.stat().st_mtime
    return any(path.suffix in DECLARATIONS and path.stat().st_mtime > built for path in sources)


def modules(cimport_root):
    """Yield the source of each module to build, with all files it depends on."""
    chosen = {name for name in os.environ.get("PHINTYS_ONLY", "").split(",") if name}
    found = {import_name(source).removeprefix("phintys."): source
             for folder in NATIVE_FOLDERS for source in sorted((ROOT / folder).rglob("*.pyx"))}
    if unknown := sorted(chosen - set(found)):
        raise SystemExit(f"PHINTYS_ONLY names no extension module: {', '.join(unknown)}. "
                         "Expected names like ops.products.blas_kernel, for ops/products/blas_kernel.pyx.")
    for name, source in found.items():
        sources = sources_of(source, cimport_root)
        if not chosen or name in chosen or is_older_than_its_declarations(source, sources):
            yield source, sources


def optimization(source, sources):
    """The level of optimisation: the highest for most modules that include loops in C (``<family>_loops.h``)."""
    if import_name(source).removeprefix("phintys.") in MOSTLY_GLUE:
        return VECTORIZED
    if any(path.name.endswith("_loops.h") for path in sources):
        return LOOPS
    return MACHINE if source.parent.parent == ROOT / "vm" and source.parent.name in ROOMS_THAT_RUN else GLUE


def extensions(cimport_root):
    """Return one extension module per ``.pyx`` file."""
    for source, sources in modules(cimport_root):
        path = source.relative_to(ROOT)
        yield Extension(import_name(source), [str(path)],
                        depends=sorted(os.path.relpath(file, ROOT) for file in sources),
                        include_dirs=[numpy.get_include(), path.parts[0], *INCLUDED.get(path.parts[0], ())],
                        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                                       ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
                        extra_compile_args=optimization(source, sources) + COMPILE_ARGS, extra_link_args=LINK_ARGS,
                        **(NUMPY_LIBRARIES if NUMPY_RANDOM.search(source.read_text()) else {}))


class BuildPackages(build_py):
    """Puts together packages that have two folders, and writes stubs of the modules that are only rows of a table.

    First it removes the results of an earlier build, so that a deleted source file does not appear in the next wheel.
    """

    def run(self):
        # Modules of this build are kept: compiling them takes a minute, while all else is copied quickly.
        modules = {extension.name.replace(".", "/") for extension in self.distribution.ext_modules}
        build = Path(self.build_lib)
        for path in build.rglob("*"):
            is_module = path.suffix == ".so" and str(path.relative_to(build)).split(".")[0] in modules
            if path.is_file() and not is_module:
                path.unlink()
        super().run()
        homes = runpy.run_path(str(ROOT / "graph" / "public_names.py"))["HOMES"]
        runpy.run_path(str(ROOT / "api" / "theano" / "theano_modules.py"))["write_stubs"](build / "phintys", homes)

    def find_package_modules(self, package, package_dir):
        """The modules of a package: those of its folder, and of one in api/theano that continues it."""
        more = ROOT / "api" / "theano" / Path(package_dir).relative_to("api") if package_dir.startswith("api") else None
        found = super().find_package_modules(package, package_dir)
        if more is not None and more.is_dir() and not (more / "__init__.py").exists():
            found += [(package, path.stem, str(path.relative_to(ROOT))) for path in sorted(more.glob("*.py"))]
        return found


def translation(extension):
    """The file with the C code of a module."""
    return Path(extension.sources[0]).with_suffix(".c")


def remove_outdated_translation(extension):
    """Delete the C code of a module if a file of Cython that it depends on is newer, or another Cython wrote it.

    Cython compares times, too, but does not see what a module depends on by ``from package cimport module``; and it
    translates everything again if its own files are newer, as in each new environment.
    """
    code = ROOT / translation(extension)
    if not code.exists():
        return
    files = [ROOT / name for name in [*extension.sources, *extension.depends] if Path(name).suffix in TRANSLATED]
    with open(code) as lines:
        version = next(lines, "")
    if (f"Cython {Cython.__version__} " not in version
            or any(file.stat().st_mtime > code.stat().st_mtime for file in files)):
        code.unlink()


def refuse_what_cannot_be_built():
    """One line about the machine, instead of errors of the compiler."""
    if sys.byteorder != "little" or sys.maxsize < 2**32:
        raise SystemExit("phintys is for little-endian processors with 64 bits: this Python is "
                         f"{sys.byteorder}-endian and has {sys.maxsize.bit_length() + 1} bits.")
    if shutil.which("sh") and PREREQUISITES.exists():
        lacks = subprocess.run(["sh", str(PREREQUISITES), sys.executable, "headers", "compiler"], capture_output=True,
                               text=True)
        if lacks.returncode:
            raise SystemExit(lacks.stderr.strip())
    elif sys.platform == "win32" and not shutil.which("gcc"):       # which has no shell either
        raise SystemExit("phintys cannot be built: there is no C compiler (no 'gcc'). Install it: "
                         "winget install BrechtSanders.WinLibs.POSIX.UCRT")


def remove_orphans():
    """Delete built modules whose source is gone: a file of Python that now has the name would never be imported."""
    for folder in NATIVE_FOLDERS:
        for path in (ROOT / folder).rglob("*.so"):
            if not path.with_name(path.name.split(".")[0] + ".pyx").exists():
                path.unlink()


class TranslateAndBuild(build_ext):
    """Runs Cython when modules are built: a source distribution and metadata need no C code."""

    def run(self):
        refuse_what_cannot_be_built()
        if self.inplace:
            remove_orphans()
        translated = {extension.name: extension for extension in self.translate()}
        for extension in self.extensions:
            extension.sources = (translated[extension.name].sources if extension.name in translated
                                 else [str(translation(extension))])
        super().run()

    def translate(self):
        """Translate what has no C code, or none of today; return the modules that this concerns."""
        for extension in self.extensions:
            remove_outdated_translation(extension)
        missing = [extension for extension in self.extensions if not (ROOT / translation(extension)).exists()]
        return translate(missing) if missing else []

    def build_extensions(self):
        if is_clang(getattr(self.compiler, "compiler_so", [])):
            for extension in self.extensions:
                extension.extra_compile_args = flags_for_clang(extension.extra_compile_args)
        self.outdated = [extension for extension in self.extensions
                         if self.force or newer_group(extension.sources + extension.depends,
                                                      self.get_ext_fullpath(extension.name), "newer")]
        self.begun = itertools.count(1)
        super().build_extensions()

    def build_extension(self, extension):
        """Several threads are here at the same time."""
        if extension in self.outdated:
            print(f"[{next(self.begun)}/{len(self.outdated)}] Compiling {extension.name}", flush=True)
        super().build_extension(extension)


def is_clang(command):
    """Whether a command of a compiler, whose first words may be those of ccache, is Clang."""
    program = next((word for word in command if word != "ccache" and not word.startswith("-")), None)
    if program is None or shutil.which(program) is None:
        return False
    return "clang" in subprocess.run([program, "--version"], capture_output=True, text=True).stdout


def flags_for_clang(flags):
    return [kept for flag in flags if (kept := FOR_CLANG.get(flag, flag)) is not None]


def translate(extensions, **options):
    """Let Cython write the C code of extension modules.

    What it allocates stays in use until a module is written, so that looking for garbage all the time finds none: a
    third of the time.
    """
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(200_000, 50, 1000)
    try:
        translated = [module for without_gil in (True, False) for module in cythonize(
            [extension for extension in extensions if works_without_gil(extension) == without_gil],
            **{**CYTHON, **options, "compiler_directives": {**DIRECTIVES, "freethreading_compatible": without_gil}})]
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
    for extension in translated:
        mend(translation(extension))
    return translated


def works_without_gil(extension):
    """Whether a module may be imported without a GIL, see ``vm/free_threads.h``; for others Python switches it on."""
    return not extension.name.startswith("phintys.gpu.")


def mend(code):
    """Correct what Cython 3.3.1 writes for list comprehensions: if the list cannot grow, its new element was released
    twice."""
    text = code.read_text() if code.exists() else ""
    if RELEASED_TWICE in text:
        code.write_text(text.replace(RELEASED_TWICE, RELEASED_BY_THE_CALLER))


class Annotate(Command):
    """Writes Cython's page for each module to build: the C code of each line. Files of a build are not changed."""

    description = "write pages that show the C code of each line of Cython"
    user_options = []

    def initialize_options(self):
        self.folder = os.path.join("build", "annotate")

    def finalize_options(self):
        pass

    def run(self):
        translate(list(extensions(CIMPORT_ROOT)), annotate=True, build_dir=self.folder, quiet=True)
        print(f"One page for each .pyx file, below {self.folder}")


class TimedBuild(TranslateAndBuild):
    """Compiles one module after another, as other threads would compile at the same time, and prints what they took."""

    def translate(self):
        return timed_cythonize(self.extensions)

    def build_extension(self, extension):
        before = compiler_seconds()
        super().build_extension(extension)
        SECONDS[extension.name].append(compiler_seconds() - before)

    def build_extensions(self):
        self.parallel = None
        super().build_extensions()
        print(f"{'CPU seconds':<50}{'Cython':>8}{'C':>8}")
        rows = {name: times for name, times in SECONDS.items() if len(times) == 2}
        for name, times in sorted(rows.items(), key=lambda row: -sum(row[1])):
            print(f"{name:<50}{times[0]:8.2f}{times[1]:8.2f}")
        cython, c = map(sum, zip(*rows.values()))
        print(f"{f'{len(rows)} modules, in all {cython + c:.1f}':<50}{cython:8.1f}{c:8.1f}")


def compiler_seconds():
    """CPU seconds of the processes that this one has started, and their processes."""
    times = os.times()
    return times.children_user + times.children_system


def timed_cythonize(extensions):
    """Let Cython translate one module after another, and note what each takes."""
    translated = []
    for extension in extensions:
        before = time.process_time()
        translated += translate([extension], force=True, quiet=True, build_dir=str(TIMES / "c"), nthreads=0)
        SECONDS[extension.name] = [time.process_time() - before]
    return translated


os.chdir(ROOT)
TIMES = ROOT / "build" / "times" if os.environ.get("PHINTYS_BUILD_TIMES") else None
SECONDS = {}                            # of Cython and of the C compiler, by the name of the module
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()      # macOS has none
CIMPORT_ROOT = link_cimport_root()
write_opcodes(CIMPORT_ROOT)
CYTHON = {"include_path": [str(CIMPORT_ROOT)],
          # Processes that are not forked would run this file again.
          "nthreads": CORES if multiprocessing.get_start_method() == "fork" else 0}
PACKAGES = package_folders()
MODULES = list(extensions(CIMPORT_ROOT))
COMMANDS = {"build_py": BuildPackages, "build_ext": TranslateAndBuild, "annotate": Annotate}
BUILD = {"parallel": CORES}
if sys.platform == "win32":
    BUILD["compiler"] = "mingw32"
if TIMES:
    COMMANDS["build_ext"] = TimedBuild
    BUILD = {"force": True, "build_temp": str(TIMES / "objects"), "build_lib": str(TIMES / "lib")}
setup(packages=list(PACKAGES), package_dir=PACKAGES, include_package_data=False,
      package_data={"": ["*.pxd", "*.pyi", "*.h", "*.css", "*.js", "py.typed"]},
      ext_modules=MODULES, cmdclass=COMMANDS, options={"build_ext": BUILD})
