"""Chains of a PyMC model, drawn by several processes."""
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy
import pytest

pytest.importorskip("pytensor_reference")
pymc = pytest.importorskip("pymc")

import phintys.interop.pymc  # noqa: E402

OPTIONS = {"draws": 60, "tune": 60, "progressbar": False, "quiet": True}


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as made:
        yield made


@pytest.fixture(scope="module")
def model():
    with pymc.Model(coords={"place": ["a", "b"]}) as made:
        mean = pymc.Normal("mean", dims="place")
        pymc.Normal("y", mean, 1, observed=[2.0, 4.0], dims="place")
    return made


def test_chains_of_processes(pool, model):
    found = phintys.interop.pymc.sample(model, **OPTIONS, chains=3, random_seed=[5, 6, 7], client=pool,
                                        compute_convergence_checks=False)
    mean = found.posterior["mean"]
    assert mean.dims == ("chain", "draw", "place") and mean.shape == (3, 60, 2)
    assert mean.chain.values.tolist() == [0, 1, 2] and mean.place.values.tolist() == ["a", "b"]
    assert found.observed_data["y"].values.tolist() == [2, 4] and found.sample_stats.sizes["chain"] == 3
    alone = phintys.interop.pymc.sample(model, **OPTIONS, chains=1, cores=1, random_seed=6,
                                        compute_convergence_checks=False)
    assert type(found) is type(alone) and numpy.array_equal(alone.posterior["mean"][0], mean[1])
    assert not numpy.array_equal(mean[0], mean[1])


def test_seeds(pool, model, caplog):
    """Chains depend on the seed alone; PyMC's checks are made of all chains."""
    found = []
    with model:
        for seed in (1, 1, numpy.random.default_rng(3)):
            found.append(phintys.interop.pymc.sample(**OPTIONS, chains=2, random_seed=seed, client=pool)
                         .posterior["mean"].values)
    assert numpy.array_equal(found[0], found[1]) and not numpy.array_equal(found[0], found[2])
    assert "Only one chain was sampled" not in caplog.text
    with pytest.raises(ValueError, match="random_seed has 1 seeds for 2 chains"):
        phintys.interop.pymc.sample(model, chains=2, random_seed=[1], client=pool)
    with pytest.raises(Exception, match="This happened in call 0 of map, of") as caught:
        phintys.interop.pymc.sample(model, chains=2, client=pool, draws="many")
    assert "<chains of a PyMC model>" in str(caught.value) + str(getattr(caught.value, "__notes__", ""))
