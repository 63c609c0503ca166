"""Tests and the libraries that they import keep what they write in the folder of the run, not in the user's home."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_folder import FOLDERS, RUN

ROOT = Path(__file__).parents[1]


def inside(path):
    """Whether a path is in the folder of this worker, or in the tree's `build`, where the stand-in for a GPU and what
    its compiler has made are kept."""
    path = Path(path).resolve()
    return path.is_relative_to(Path(os.environ["HOME"]).resolve()) or path.is_relative_to(ROOT / "build")


def test_the_environment_names_folders_of_the_run():
    assert Path.home().is_relative_to(os.environ[RUN]) and Path.home().is_dir()
    assert [name for name in FOLDERS if not inside(os.environ[name])] == []
    assert inside(os.environ["PYTENSOR_FLAGS"].partition("base_compiledir=")[2])


def test_child_processes_see_it():
    program = "from pathlib import Path; print(Path.home())"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == os.environ["HOME"]


def with_matplotlib(matplotlib):
    """Where it keeps the list of fonts, which a title needs."""
    matplotlib.use("Agg")
    from matplotlib import pyplot
    pyplot.title("fonts").figure.canvas.draw()
    pyplot.close("all")
    return matplotlib.get_cachedir()


def with_pytensor(pytensor):
    x = pytensor.tensor.dscalar()
    assert pytensor.function([x], x + 1)(2) == 3
    return pytensor.config.compiledir


def with_hypothesis(hypothesis):
    """A failing case is stored, unless the environment has CI, where hypothesis stores none."""
    from hypothesis import strategies

    @hypothesis.given(strategies.just(1))
    def fails(number):
        assert number == 2

    with pytest.raises(AssertionError):
        fails()
    database = hypothesis.settings().database
    return Path.home() if database is None else database.path


LIBRARIES = {
    "matplotlib": with_matplotlib,
    "pytensor": with_pytensor,
    "pymc": lambda pymc: Path.home(),           # and ArviZ, which writes a stamp once a day
    "numba": lambda numba: numba.config.CACHE_DIR,
    "hypothesis": with_hypothesis,
    "sklearn": lambda sklearn: sklearn.datasets.get_data_home(),
    "sphinx": lambda sphinx: Path.home(),
    "IPython": lambda ipython: ipython.paths.get_ipython_dir(),
    "phintys.gpu.runtime.compiler": lambda compiler: compiler.cache_folder(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries(name):
    assert inside(LIBRARIES[name](pytest.importorskip(name)))


@pytest.mark.parametrize("home", ["empty", pytest.param("a file", marks=pytest.mark.long)])
def test_nothing_is_written_below_the_users_home(home, tmp_path):
    """By these tests, with a worker; and a home below which nothing can be written is no obstacle."""
    folder = tmp_path / "home"
    folder.touch() if home == "a file" else folder.mkdir()
    environment = {name: value for name, value in os.environ.items()
                   if name not in FOLDERS and name != RUN and not name.startswith("PYTEST_")}
    done = subprocess.run([sys.executable, "-I", "-m", "pytest", "-n", "1", "-p", "no:cacheprovider",
                           str(Path(__file__)), "-k", "test_libraries or environment"],
                          capture_output=True, text=True, cwd=ROOT, env={**environment, "HOME": str(folder),
                                                                         "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert home == "a file" or not list(folder.iterdir())
    assert not list(tmp_path.glob("phintys-tests-*"))                       # removed when the run ended
