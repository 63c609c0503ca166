"""The examples with loops: the sampler makes the samples of the loop in NumPy, the network learns; both draw."""
import importlib.util
import sys
from pathlib import Path

import numpy
import pytest

import phintys

pytest.importorskip("sklearn")
pytest.importorskip("rich")
EXAMPLES = Path(__file__).parents[2] / "examples"


def loaded(name):
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    return example


def test_a_chain_is_that_of_a_loop_in_numpy():
    example = loaded("hamiltonian_monte_carlo")
    data, rng, count = example.load(), numpy.random.default_rng(1), 60
    arguments = numpy.zeros(10), rng.normal(size=(count, 10)), rng.uniform(size=count)
    chain = example.phintys_chain(*data)
    samples, accepted = chain(*arguments)
    wanted, rate = example.numpy_chain(*data)(*arguments)
    numpy.testing.assert_allclose(samples, wanted, rtol=1e-6, atol=1e-8)
    assert accepted == rate > 0.5
    assert "CALL" not in chain.explain("instructions") and "body of instruction" in chain.explain("instructions")


def test_samples_are_those_of_the_posterior():
    example = loaded("hamiltonian_monte_carlo")
    data, rng, count = example.load(), numpy.random.default_rng(2), 2000
    samples, _ = example.phintys_chain(*data)(numpy.zeros(10), rng.normal(size=(count, 10)), rng.uniform(size=count))
    mean, covariance = example.exact_posterior(*data)
    found = samples[example.BURN_IN:]
    deviations = numpy.sqrt(numpy.diag(covariance))
    assert (numpy.abs(found.mean(0) - mean) < 0.15 * deviations).all()
    numpy.testing.assert_allclose(found.std(0), deviations, rtol=0.12)


def test_the_network_learns():
    example = loaded("recurrent_network")
    rng = numpy.random.default_rng(0)
    network = example.Network(8, rng)
    losses = [float(network.train(*example.draw_batch(rng, 6))) for _ in range(600)]
    assert numpy.mean(losses[-50:]) < 0.3 * example.ALWAYS_ONE < numpy.mean(losses[:20])
    x, sums = example.draw_batch(rng, 6, 50)
    assert numpy.corrcoef(network.answer(x), sums)[0, 1] > 0.9
    assert isinstance(network.train, phintys.Function) and network.inside(x).shape == (6, 50, 8)


@pytest.mark.parametrize("name, options", [("hamiltonian_monte_carlo", ["--samples", "60"]),
                                           ("recurrent_network", ["--steps", "50", "--length", "5", "--size", "4"])])
def test_programs_draw_pictures(name, options, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", [name, *options, "--output", str(tmp_path)])
    loaded(name).main()
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert f"{name}.png" in capsys.readouterr().out
