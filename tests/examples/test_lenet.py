"""The example of LeNet: the network learns, also with dropout, as PyTorch's does, and the program draws its picture."""
import importlib.util
import sys
from pathlib import Path

import numpy
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "lenet.py"
for needed in ("rich", "sklearn"):
    pytest.importorskip(needed)


@pytest.fixture(scope="module")
def example():
    specification = importlib.util.spec_from_file_location("lenet_example", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def trained(example, kinds, dropout, epochs):
    """Train on 600 images; return the models, their losses and what was held out."""
    (images, labels), held_out = example.load(0)
    models = [kind(example.initial_parameters(0), dropout, 3) for kind in kinds]
    losses, _ = example.train_in_turns(models, (images[:600], labels[:600]), epochs, 0, lambda epoch, loss: None)
    return models, losses, held_out


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_network_learns(example, dropout):
    (model,), losses, (images, labels) = trained(example, [example.PhintysModel], dropout, 10)
    assert numpy.mean(losses[0, -10:]) < 0.3 * losses[0, 0]
    counts = example.confusion(labels, model.predict(images))
    assert numpy.trace(counts) > 0.85 * len(labels)
    numpy.testing.assert_array_equal(counts.sum(axis=1), numpy.bincount(labels))
    assert "CALL" not in model.train.explain("instructions")


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_losses_are_those_of_pytorch(example, dropout):
    if example.torch is None:
        pytest.skip("PyTorch is not installed")
    _, losses, _ = trained(example, [example.PhintysModel, example.TorchModel], dropout, 1)
    numpy.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def test_the_program_draws_its_picture(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["lenet", "--epochs", "1", "--output", str(tmp_path)])
    example.main()
    assert (tmp_path / "lenet.png").stat().st_size > 10_000
    assert "lenet.png" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--epochs", "0"], ["--dropout", "1"]])
def test_bad_options_are_refused(example, options, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lenet", *options])
    with pytest.raises(SystemExit):
        example.main()
    assert f"{options[0]} must be at least" in capsys.readouterr().err
