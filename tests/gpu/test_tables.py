"""The table of twins against the kernels that there are: what has no twin is listed, and the list is current."""
import importlib
import pkgutil
import re
from pathlib import Path

import phintys.ops
from phintys.gpu import families  # noqa: F401  (which fills the table)
from phintys.gpu.twins import TWINS
from phintys.vm.abi import Kernel

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "gpu.md"
LIST = Path(__file__).with_name("without_twin.txt")


def host_kernels():
    """The name of each class of kernels of the processor that ops make: "ops.shape.join_kernel.JoinKernel"."""
    found = {}
    for _, module, is_package in pkgutil.walk_packages(phintys.ops.__path__, "phintys.ops."):
        for name, value in () if is_package else vars(importlib.import_module(module)).items():
            if isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel:
                if value.__module__ == module:
                    found[f"{module.removeprefix('phintys.')}.{name}"] = value
    return found


def is_base(cls, classes):
    """Whether others extend a class of which there are no instances."""
    return any([other is not cls and issubclass(other, cls) for other in classes]) and cls.__doc__ is not None and (
        "base" in cls.__doc__.lower())


def listed():
    """Of each kernel without a twin: its name, what users call it, and the reason."""
    return [tuple(line.split(": ", 2)) for line in LIST.read_text().splitlines() if not line.startswith("#")]


def test_the_list_of_kernels_without_a_twin_is_current():
    kernels = host_kernels()
    without = [name for name, cls in kernels.items() if cls not in TWINS and not is_base(cls, kernels.values())]
    assert sorted(without) == sorted([name for name, *_ in listed()]), (
        "write the names to tests/gpu/without_twin.txt, each with its reason")
    assert all([len(line) == 3 and line[2] for line in listed()])


def test_the_guide_says_what_runs_on_the_host():
    section = GUIDE.read_text().partition("## What runs on the host")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (.*?) \| (.*?) \|$", section, re.MULTILINE)[1:] == [
        (what, why) for _, what, why in listed() if what != "-"]
