"""``phintys.runtime``: what it loads, from Python and from a shell."""
import subprocess
import sys

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import runtime

x = T.dvector("x")


@pytest.fixture
def path(tmp_path):
    w = phintys.shared(numpy.ones(3), "w")
    phintys.save(tmp_path / "model", {"predict": phintys.function([x], {"sum": (x * w).sum(), "x": T.exp(x)}),
                                      "grow": phintys.function([], [], updates=[(w, w * 2)])})
    return str(tmp_path / "model")


def printed(*arguments, code=0):
    run = subprocess.run([sys.executable, "-I", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stderr
    return (run.stdout if code == 0 else run.stderr).splitlines()


def test_nothing_else_is_loaded_until_it_is_used(path):
    first, second, third = printed("-c", """
import sys
import phintys.runtime
from phintys.runtime import load
model = load(sys.argv[1])
print(model["predict"]([1, 2, 3])["sum"], phintys.__version__, hasattr(phintys, "__wrapped__"))
print([name for name in sys.modules if name.startswith(("phintys.optimizer", "phintys.making", "phintys.tensor",
                                                        "phintys.function", "phintys.namespace", "scipy"))])
import phintys.tensor as T
from phintys.graph.op import Op
assert phintys.Op is Op and sys.modules["phintys.tensor"] is T and T.__spec__.loader is not sys.meta_path[0]
x = T.dvector()
print(phintys.function([x], x * 2)([1, 2]), phintys.__all__ == dir(phintys), phintys.load is load)
""", path)
    assert first == f"6.0 {phintys.__version__} False" and second == "[]" and third == "[2. 4.] True True"


@pytest.mark.parametrize("use", ["phintys.function", "from phintys import function", "from phintys import *",
                                 "import phintys.gof", "import phintys.scan_module.scan"])
def test_each_use_of_another_name_loads_all(path, use):
    assert printed("-c", f"""
import sys
import phintys.runtime
{use}
print("phintys.namespace" in sys.modules, phintys.grad.__name__, type(sys.meta_path[0]).__module__ == "phintys")
""") == ["True grad False"]


def test_threads_that_use_names_at_once(path):
    assert printed("-c", """
import sys
from threading import Barrier, Thread
import phintys.runtime
barrier, found = Barrier(4), []
def use(number):
    barrier.wait()
    if number % 2:
        found.append(phintys.function)
    else:
        from phintys.vm import pool
        found.append(phintys.runtime.load(sys.argv[1])["predict"])
threads = [Thread(target=use, args=[number]) for number in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(len(found))
""", path) == ["4"]


def test_a_shell_shows_and_runs_programs(path, tmp_path):
    shown = printed("-m", "phintys.runtime", "show", path, "--name", "predict")
    assert any("sum" in line for line in shown)
    numpy.savez(tmp_path / "inputs.npz", x=[1.0, 2.0, 3.0])
    results = printed("-m", "phintys.runtime", "run", path, tmp_path / "inputs.npz", "--name", "predict")
    assert results[0] == "sum = array(6.)" and results[1].startswith("x = array([")
    numpy.savez(tmp_path / "inputs.npz", [1.0, 2.0, 3.0])
    printed("-m", "phintys.runtime", "run", path, tmp_path / "inputs.npz", tmp_path / "out.npz", "--name", "predict")
    with numpy.load(tmp_path / "out.npz") as arrays:
        assert arrays["sum"] == 6.0 and arrays["x"].shape == (3,)
    assert printed("-m", "phintys.runtime", "run", path, "--name", "grow") == []


def test_mistakes_at_the_shell(path, tmp_path, capsys):
    for arguments, message in [(["run", path], "choose by --name predict or grow"),
                               (["run", path, "--name", "predict"], "Missing required input"),
                               (["show", str(tmp_path / "none")], "No such file"),
                               (["show", __file__], "are not a saved program")]:
        with pytest.raises(SystemExit) as caught:
            runtime.main(arguments)
        assert caught.value.code == 1 and message in capsys.readouterr().err
