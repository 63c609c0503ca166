"""Chains of a PyMC model over a client: ``phintys.interop.pymc.sample(..., client=client)``."""
from __future__ import annotations

from typing import Any

import cloudpickle
import numpy
import pymc
import xarray
from pymc.stats.convergence import log_warnings, run_convergence_checks

from phintys.distributed.tasks import map as map_over

CHAINS = 4


def sample_over(client: Any, sample: Any, arguments: Any, options: Any) -> Any:
    """Draw samples, each chain by a task of its own.

    Parameters
    ----------
    client : object
        As of ``phintys.distributed.map``.
    sample : callable
        That which draws the chains.
    arguments, options
        Its own.

    Returns
    -------
    xarray.DataTree or arviz.InferenceData
        With the chains in their order, whoever draws first.
    """
    model = pymc.modelcontext(options.pop("model", None))
    seeds = _seeds(options.pop("random_seed", None), options.pop("chains", None) or CHAINS)
    is_shown, is_checked = options.pop("progressbar", False), options.pop("compute_convergence_checks", True)
    once = {"model": model, "chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
    found = joined(map_over(Chain(cloudpickle.dumps((sample, arguments, options | once))), seeds, client=client,
                            progress=bool(is_shown)))
    if is_checked:
        log_warnings(run_convergence_checks(found, model))
    return found


class Chain:
    """A task: one chain, of a seed.

    Parameters
    ----------
    content : bytes
        What draws and its arguments, by cloudpickle, which writes models, and what belongs to ``__main__``.
    """

    name = "chains"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __call__(self, seed: int) -> Any:
        """The samples."""
        sample, arguments, options = cloudpickle.loads(self.content)
        return sample(*arguments, **options, random_seed=seed)

    def __repr__(self) -> str:
        return "<chains of a PyMC model>"


def _seeds(given, chains):
    if isinstance(given, (list, tuple, numpy.ndarray)):
        if len(given) != chains:
            raise ValueError(f"random_seed has {len(given)} seeds for {chains} chains")
        return [int(seed) for seed in given]
    if isinstance(given, numpy.random.Generator):
        given = int(given.integers(1 << 32))
    return numpy.random.SeedSequence(given).generate_state(chains).tolist()


def joined(found: list[Any]) -> Any:
    """What ``pymc.sample`` returns of all chains, from what it returns of each."""
    groups = {name: _along_chains([_group(one, name) for one in found]) for name in _names(found[0])}
    kind = type(found[0])
    return kind.from_dict(groups) if kind is getattr(xarray, "DataTree", None) else kind(**groups)


def _names(one):
    children = getattr(one, "children", None)
    return one.groups() if children is None else [name for name, child in children.items() if child.has_data]


def _group(one, name):
    return one[name].to_dataset() if hasattr(one, "children") else one[name]


def _along_chains(datasets):
    """Observed data, which has no chains, is the same in all."""
    if "chain" not in datasets[0].dims:
        return datasets[0]
    return xarray.concat([dataset.assign_coords(chain=[number]) for number, dataset in enumerate(datasets)], "chain",
                         combine_attrs="override")
