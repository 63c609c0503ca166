"""The programs written for Theano: each runs as a user runs it, and learns."""
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "theano_programs"
NUMBER = r"(-?\d+\.?\d*)"


def run(program, *arguments):
    """The numbers that a program prints."""
    done = subprocess.run([sys.executable, "-m", "phintys.as_theano", str(FOLDER / f"{program}.py"), *arguments],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(number) for number in re.findall(NUMBER, done.stdout.splitlines()[-1])]


# Programs that classify: (name, arguments, the greatest error; a guess is wrong 0.9 of the time, of sentences 0.5).
CLASSIFIERS = [
    ("logistic_sgd", ("--epochs", "5", "--n", "2000"), 0.1), ("mlp", ("--epochs", "3", "--n", "1000"), 0.5),
    ("convolutional_mlp", ("--epochs", "4", "--n", "500"), 0.6),
    ("stacked_autoencoders", ("--epochs", "3", "--n", "1000"), 0.5),
    ("deep_belief_network", ("--epochs", "4", "--n", "1000"), 0.6), ("lstm", ("--epochs", "80", "--n", "600"), 0.1),
    ("slot_filling", ("--epochs", "5", "--n", "200"), 0.02),
    ("slot_filling", ("--epochs", "5", "--n", "200", "--network", "jordan"), 0.02)]


@pytest.mark.parametrize(("program", "arguments", "most"), CLASSIFIERS, ids=lambda value: str(value)[:60])
def test_classifiers_learn(program, arguments, most):
    assert run(program, *arguments)[0] < most


@pytest.mark.parametrize("network", ["elman", "jordan"])
def test_slot_filling_tells_its_score(network):
    error, score, _ = run("slot_filling", "--epochs", "3", "--n", "100", "--network", network)
    assert 0 < error < 0.3 and 0.3 < score < 1


def test_an_autoencoder_repairs_images():
    first, last, _ = run("denoising_autoencoder", "--epochs", "3", "--n", "1000")
    assert last < first - 10


def test_boltzmann_machines_find_their_data_likelier():
    first, last, _ = run("restricted_boltzmann_machine", "--epochs", "4", "--n", "1000")
    assert last > first + 10
    first, last, _ = run("recurrent_boltzmann_machine", "--epochs", "8", "--n", "10")
    assert last > first + 2


def test_hybrid_monte_carlo_samples_a_normal_distribution():
    error, acceptance, _ = run("hybrid_monte_carlo", "--epochs", "150")
    assert error < 0.1 and 0.8 < acceptance < 1


def test_layers_of_other_libraries():
    error, first, last, _, shift, spread, _ = run("layers", "--epochs", "2", "--n", "600")
    assert error < 0.1 and last < first / 2 and abs(shift) < 0.02 and abs(spread) < 0.05


def test_programs_import_nothing_of_phintys():
    for path in FOLDER.glob("*.py"):
        assert "phintys" not in path.read_text() or path.name == "compare.py"


def test_each_program_is_in_the_readme():
    text = (FOLDER / "README.md").read_text()
    for path in FOLDER.glob("*.py"):
        assert f"`{path.name}`" in text or f" {path.name} " in text, path.name


def test_a_row_of_the_comparison_says_what_both_reached():
    row = runpy.run_path(str(FOLDER / "compare.py"))["row"]
    ours, theirs = (0.5, 2.0, "error 0.1, seconds an epoch 0.5"), (1.25, 9.0, "error 0.1, seconds an epoch 1.25")
    assert row("mlp", {"phintys": ours, "Theano": theirs}) == "| `mlp.py` | 0.5 (2.0) | 1.25 (9.0) | 2.5 | error 0.1 |"
    assert row("slot_filling --network jordan", {"phintys": ours}).startswith("| `slot_filling.py` --network jordan |")
    failed = (float("inf"), 1.0, "No module named theano")
    assert row("mlp", {"phintys": ours, "Theano": failed}).endswith("| inf | error 0.1; No module named theano |")


def test_the_comparison_keeps_both_libraries_to_threads_and_instruction_sets(monkeypatch):
    monkeypatch.setenv("THEANO_FLAGS", "openmp_elemwise_minsize=7")
    environment = runpy.run_path(str(FOLDER / "compare.py"))["environment"]
    one, two = environment(1, "native"), environment(2, "avx2")
    assert one["OMP_NUM_THREADS"] == "1" and "openmp=False" in one["THEANO_FLAGS"]
    assert two["OPENBLAS_NUM_THREADS"] == "2" and "openmp=True" in two["THEANO_FLAGS"]
    assert two["OPENBLAS_CORETYPE"] == "Haswell" and "-march=haswell" in two["THEANO_FLAGS"]
    assert two["PHINTYS_FLAGS"] == "cpu=avx2" and two["THEANO_FLAGS"].endswith(",openmp_elemwise_minsize=7")
