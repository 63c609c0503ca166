"""The example of a Gaussian process: it finds the noise of the data, and knows less where there are none."""
import importlib.util
from pathlib import Path

import numpy

import phintys

PATH = Path(__file__).parents[2] / "examples" / "gaussian_process.py"


def test_training_and_prediction():
    specification = importlib.util.spec_from_file_location("gaussian_process", PATH)
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    places, values = example.load(40, seed=0)
    process = example.GaussianProcess()
    loss, gradient = process.loss(example.START, places, values)
    steps = [process.loss(example.START + 1e-6 * step, places, values)[0] for step in (*numpy.eye(3), *-numpy.eye(3))]
    numpy.testing.assert_allclose(gradient, (numpy.array(steps[:3]) - steps[3:]) / 2e-6, rtol=1e-5)
    found = process.train(places, values)
    assert found.success and found.fun < loss and 0.1 < numpy.exp(found.x[2]) < 0.25
    mean, deviation = process.predict(found.x, places, values, numpy.array([2.0, 5.0, 30.0]))
    assert abs(mean[0] - numpy.sin(2)) < 0.2 and deviation[0] < deviation[1] < deviation[2]
    assert isinstance(process.loss, phintys.Function)
