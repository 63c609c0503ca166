"""The example of the multilayer perceptron: both programs train the same weights, with dropout and without."""
import importlib.util
from pathlib import Path

import numpy
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "mlp.py"
for needed in ("rich", "sklearn"):
    pytest.importorskip(needed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_both_models_learn_the_same(dropout, dtype):
    spec = importlib.util.spec_from_file_location("mlp_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    (rows, labels), _ = example.load(dtype, 0)
    parameters = example.initial_parameters(rows.shape[1], dtype, 0)
    models = [kind(parameters, dropout, 3) for kind in (example.PhintysModel, example.NumpyModel)]
    losses, _ = example.train_in_turns(models, (rows[:240], labels[:240]), 2, 0, lambda epoch, loss: None)
    numpy.testing.assert_allclose(losses[0], losses[1], rtol=1e-3 if dtype == "float32" else 1e-9)
    for value, wanted in zip(models[0].values(), models[1].values()):
        numpy.testing.assert_allclose(value, wanted, rtol=example.TOLERANCE[dtype], atol=example.TOLERANCE[dtype])
    assert losses[0][-1] < losses[0][0]
