"""The example of chains and sweeps: the chains agree, the sweep finds what does not diverge, the picture is drawn."""
import importlib.util
import sys
from pathlib import Path

import numpy
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc")
pytest.importorskip("matplotlib")
PATH = Path(__file__).parents[2] / "examples" / "chains_and_sweeps.py"


def test_it_draws_its_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["chains_and_sweeps", "--output", str(tmp_path)])
    specification = importlib.util.spec_from_file_location("chains_and_sweeps", PATH)
    example = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "chains_and_sweeps", example)      # its functions are pickled by name
    specification.loader.exec_module(example)
    found, original = [], example.sample_and_sweep
    monkeypatch.setattr(example, "sample_and_sweep", lambda client: found.append(original(client, 100)) or found[0])
    example.main()
    assert (tmp_path / "chains_and_sweeps.png").stat().st_size > 10_000
    assert "chains_and_sweeps.png" in capsys.readouterr().out
    samples, costs = found[0]
    slopes = samples.posterior["slope"].values
    assert slopes.shape == (4, 100) and abs(slopes.mean(axis=1) - 1.5).max() < 0.3
    least = numpy.polyfit(example.PLACES, example.VALUES, 1, full=True)[1] / 50
    assert 1 <= numpy.nanmin(costs) / least < 1.001 and not numpy.nanmax(costs) < 100
    assert costs[5, 5] == example.trained(example.RATES[5], example.MOMENTA[5])
