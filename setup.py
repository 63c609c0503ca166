"""Builds the extension modules of phintys.

The folders of the repository are mapped to one import name (``vm/`` is ``phintys.vm``, ``api/`` is ``phintys``), so
nothing but ``phintys`` is installed. Cython resolves ``cimport phintys.vm.abi`` by folder names, hence the links under
``build/cimport``. ``PHINTYS_ONLY=ops.products.blas_kernel`` builds just the named modules (comma separated) while developing;
``PHINTYS_SANITIZE=address`` builds with a sanitizer of the C compiler (``make stress``).
What a wheel holds besides modules is listed in ``pyproject.toml``, what a source distribution holds in ``MANIFEST.in``.
"""
import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FOLDERS = ("api", "graph", "vm", "ops", "optimizer", "gpu")
NATIVE_FOLDERS = ("vm", "ops")
# Folders whose import name does not follow from where they are. All others are ``phintys.`` and their path.
RENAMED_FOLDERS = {"api": "phintys", "api/theano/compile": "phintys.compile", "api/theano/gof": "phintys.gof",
                   "api/theano/misc": "phintys.misc"}
COMPILE_ARGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wno-unused-function",
                "-Wno-psabi"]
LINK_ARGS = ["-pthread"]
SANITIZER = os.environ.get("PHINTYS_SANITIZE")
if SANITIZER:
    COMPILE_ARGS += [f"-fsanitize={SANITIZER}", "-fno-omit-frame-pointer", "-g", "-O1"]
    LINK_ARGS.append(f"-fsanitize={SANITIZER}")
DIRECTIVES = {"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
              "initializedcheck": False, "freethreading_compatible": False}


def link_cimport_root():
    """Make ``build/cimport/phintys/{vm,ops}`` point at the source folders; answer the root for ``include_path``."""
    root = ROOT / "build" / "cimport"
    package = root / "phintys"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    for folder in NATIVE_FOLDERS:
        link = package / folder
        if link.is_symlink():
            link.unlink()
        link.symlink_to(ROOT / folder, target_is_directory=True)
    return root


def write_opcodes(root):
    """Write the interpreter's opcode numbers from the table in ``vm/opcodes.py``."""
    table = {}
    exec((ROOT / "vm" / "opcodes.py").read_text(), table)
    target, text = root / "opcodes.pxi", table["cython_enum"]()
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def import_name(path):
    """``ops/shape/join.py`` → ``phintys.ops.shape.join``; the folders of ``FOLDERS`` are renamed as the table says."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    for depth in range(len(parts), 0, -1):
        if "/".join(parts[:depth]) in RENAMED_FOLDERS:
            return ".".join([RENAMED_FOLDERS["/".join(parts[:depth])], *parts[depth:]])
    return ".".join(["phintys", *parts])


def package_folders():
    """Import name → folder of every package, which is every folder with an ``__init__.py``."""
    folders = [path.parent for folder in FOLDERS for path in sorted((ROOT / folder).rglob("__init__.py"))]
    return {import_name(folder): str(folder.relative_to(ROOT)) for folder in folders}


def extensions():
    """One extension module per ``.pyx`` file; all C headers of its folder are its dependencies."""
    chosen = [name for name in os.environ.get("PHINTYS_ONLY", "").split(",") if name]
    for folder in NATIVE_FOLDERS:
        headers = [str(path.relative_to(ROOT)) for path in sorted((ROOT / folder).rglob("*.h"))]
        for source in sorted((ROOT / folder).rglob("*.pyx")):
            name = import_name(source).removeprefix("phintys.")
            if chosen and name not in chosen:
                continue
            yield Extension("phintys." + name, [str(source.relative_to(ROOT))], depends=headers,
                            include_dirs=[numpy.get_include(), folder],
                            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                                           ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
                            extra_compile_args=COMPILE_ARGS, extra_link_args=LINK_ARGS)


class BuildWithoutLeftovers(build_py):
    """Removes what an earlier build left, so that a deleted source file does not live on in the next wheel."""

    def run(self):
        # Modules of this build stay: compiling them takes a minute, everything else is copied in no time.
        modules = {extension.name.replace(".", "/") for extension in self.distribution.ext_modules}
        build = Path(self.build_lib)
        for path in build.rglob("*"):
            is_module = path.suffix == ".so" and str(path.relative_to(build)).split(".")[0] in modules
            if path.is_file() and not is_module:
                path.unlink()
        super().run()


os.chdir(ROOT)
CIMPORT_ROOT = link_cimport_root()
write_opcodes(CIMPORT_ROOT)
PACKAGES = package_folders()
setup(packages=list(PACKAGES), package_dir=PACKAGES, include_package_data=False,
      package_data={"": ["*.pxd", "*.pyi", "*.h", "py.typed"]},
      ext_modules=cythonize(list(extensions()), include_path=[str(CIMPORT_ROOT)], compiler_directives=DIRECTIVES),
      cmdclass={"build_py": BuildWithoutLeftovers},
      options={"build_ext": {"parallel": len(os.sched_getaffinity(0))}})
