"""What ``pip install`` leaves behind: one package, what out-of-tree ops compile against, and no sources of C code."""
import importlib.metadata
import json
import sysconfig
from pathlib import PurePosixPath

import pytest

import phintys

# Not by name alone: the source tree may have metadata of its own.
DISTRIBUTION, = importlib.metadata.distributions(name="phintys", path=[sysconfig.get_path("platlib")])
DIRECT_URL = json.loads(DISTRIBUTION.read_text("direct_url.json") or "{}")

pytestmark = pytest.mark.skipif(DIRECT_URL.get("dir_info", {}).get("editable", False),
                                reason="an editable install has its files in the source tree")


@pytest.fixture(scope="module")
def files():
    return [PurePosixPath(path) for path in DISTRIBUTION.files if "__pycache__" not in path.parts]


def test_nothing_but_the_package_is_installed(files):
    assert {path.parts[0] for path in files} == {"phintys", f"phintys-{phintys.__version__}.dist-info"}


def test_there_is_no_source_that_would_need_a_compiler(files):
    assert [path for path in files if path.suffix in (".c", ".pyx", ".pxi")] == []


@pytest.mark.parametrize("name", ["phintys/py.typed", "phintys/__init__.pyi", "phintys/tensor/__init__.pyi",
                                  "phintys/vm/abi.pxd", "phintys/gpu/__init__.py", "phintys/pages/page.js",
                                  "phintys/pages/page.css"])
def test_has(files, name):
    assert PurePosixPath(name) in files


def test_the_licence_travels_along(files):
    assert [path.name for path in files if path.name == "LICENSE"] == ["LICENSE"]


def test_version_is_the_distributions():
    assert phintys.__version__ == DISTRIBUTION.version
