"""What ``pyproject.toml`` says of versions and extras agrees with itself and with the documents."""
import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")                # of Python 3.11

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
VERSIONS = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


def test_a_wheel_for_each_version_of_python():
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == [f"cp{version.replace('.', '')}-*" for version in VERSIONS]
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"
    page = (ROOT / "docs/installation.md").read_text()
    assert f"CPython {VERSIONS[0]} to {VERSIONS[-1]}" in page


def test_each_extra_is_documented():
    page = (ROOT / "docs/installation.md").read_text()
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `")))
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_the_oldest_versions_that_documents_name_are_those_required():
    page = (ROOT / "docs/installation.md").read_text()
    for requirement in PROJECT["dependencies"]:
        name, version = requirement.split(">=")
        assert re.search(rf"{name} {re.escape(version)} or later", page, re.IGNORECASE), requirement


def test_wheels_are_tested_with_files_that_exist():
    for command in PYPROJECT["tool"]["cibuildwheel"]["test-command"]:
        for path in re.findall(r"{project}/(\S+)", command):
            assert (ROOT / path).exists(), path
    for path in re.findall(r"tests/[\w/.]+", (ROOT / ".ci/wheels").read_text()):
        assert (ROOT / path).exists(), path


def test_the_page_says_of_each_wheel_what_was_run():
    table = PYPROJECT["tool"]["cibuildwheel"]
    linux, macos = table["linux"], table["macos"]
    tags = [f"{linux[f'{library}-{arch}-image']}_{arch}" for library in ("manylinux", "musllinux")
            for arch in linux["archs"]]
    oldest = macos["environment"]["MACOSX_DEPLOYMENT_TARGET"].replace(".", "_")
    tags += [f"macosx_{oldest}_{arch}" for arch in macos["archs"]]
    tags += [f"win_{arch.lower()}" for arch in table["windows"]["archs"]]
    page = (ROOT / "docs/installation.md").read_text()
    rows = [re.split(r" *\| *", line)[1:4] for line in page.splitlines()
            if re.match(r"\| (many|musl|macosx|win_)", line)]
    assert [row[0] for row in rows] == tags and all(built and run for _, built, run in rows)
