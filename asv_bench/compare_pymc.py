"""Twenty PyMC models by phintys and PyTensor's other back ends: time to the first value and gradient, and of a call.

    python asv_bench/compare_pymc.py [--modes PHINTYS,NUMBA,CVM,JAX] [--models NAME,...] [--warm] [--json FILE]

Each pair of a model and a mode runs in a process of its own. Without ``--warm`` PyTensor's cache of compiled code is
empty when the process begins; with it, it was filled by a run before. Times are of the processor, compilers included.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS_FOLDER = Path(__file__).resolve().parents[1] / "tests/support"
CALLS = 7                               # repetitions; the shortest counts
COMPILED = ("C", "CVM")                # the modes that need a compiler

PROCESS = """
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, pymc_models, pytensor
from pymc.blocking import DictToArrayBijection
name, mode, calls = sys.argv[1:]
if mode == "PHINTYS":
    import phintys.interop.pytensor
if mode == "JAX":
    import jax
    jax.config.update("jax_enable_x64", True)
def spent():
    return sum(os.times()[:4])
model = pymc_models.MODELS[name]()
point = DictToArrayBijection.map(model.initial_point()).data
point = point + 0.3 * np.random.default_rng(1).normal(size=point.shape)
model.logp_dlogp_function(ravel_inputs=True, mode=pytensor.compile.mode.Mode("py", None))   # PyMC's own caches
start, cpu = time.perf_counter(), spent()
f = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
f.set_extra_values({})
f = f._pytensor_function
f.trust_input = True
value = f(point)
first, first_cpu = time.perf_counter() - start, spent() - cpu
count, best = 1, 0
while True:
    start = time.perf_counter()
    for _ in range(count):
        f(point)
    if time.perf_counter() - start > 0.02:
        break
    count *= 2
best = 1e9
for _ in range(int(calls)):
    start = time.perf_counter()
    for _ in range(count):
        f(point)
    best = min(best, (time.perf_counter() - start) / count)
print(json.dumps({"model": name, "mode": mode, "first": first, "first_cpu": first_cpu, "call_us": best * 1e6,
                  "value": float(value[0])}))
"""


def measured(name, mode, folder, calls=CALLS):
    """What one process says of a model in a mode."""
    flags = f"base_compiledir={folder}" + ("" if mode in COMPILED else ",cxx=")
    environment = dict(os.environ, PYTENSOR_FLAGS=flags, PYTHONPATH=str(MODELS_FOLDER), OMP_NUM_THREADS="1",
                       XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    done = subprocess.run([sys.executable, "-c", PROCESS, name, mode, str(calls)], env=environment, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        return {"model": name, "mode": mode, "error": done.stderr.strip().splitlines()[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


TITLES = {"PHINTYS": "phintys", "NUMBA": "PyTensor, Numba", "CVM": "PyTensor, C", "JAX": "PyTensor, JAX"}


def draw(path, picture):
    """Bars of the least times that a file of results has, a group for each model."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    least = {}
    with open(path) as file:
        for found in map(json.loads, file):
            for kind in ("first_cpu", "call_us"):
                key = found["model"], found["mode"], kind
                least[key] = min(least.get(key, float("inf")), found.get(kind, float("inf")))
    models = list(dict.fromkeys(model for model, _, _ in least))
    modes = [mode for mode in TITLES if any(known == mode for _, known, _ in least)]
    figure, panels = pyplot.subplots(2, 1, figsize=(11, 7), sharex=True, layout="constrained")
    for panel, kind, title in zip(panels, ("call_us", "first_cpu"), (
            "a call of log-density and gradient, µs", "until the first value, seconds of the processor")):
        for number, mode in enumerate(modes):
            heights = [least.get((model, mode, kind), float("nan")) for model in models]
            panel.bar([place + 0.8 * number / len(modes) for place in range(len(models))], heights,
                      0.8 / len(modes), label=TITLES[mode], align="edge")
        panel.set_yscale("log")
        panel.set_title(title, loc="left", fontsize=10)
        panel.grid(axis="y", alpha=0.3)
    panels[0].legend(ncols=len(modes), fontsize=9, frameon=False)
    panels[1].set_xticks([place + 0.4 for place in range(len(models))], [name.replace("_", " ") for name in models],
                         rotation=35, ha="right", fontsize=9)
    figure.savefig(picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="PHINTYS,NUMBA,CVM,JAX")
    parser.add_argument("--models")
    parser.add_argument("--warm", action="store_true", help="run twice, and show the second")
    parser.add_argument("--folder", help="where PyTensor keeps its caches, one for each pair; else a temporary one")
    parser.add_argument("--json", help="a file to which one line for each pair is added")
    parser.add_argument("--picture", help="draw what the file has, instead of measuring")
    options = parser.parse_args()
    if options.picture:
        draw(options.json, options.picture)
        return
    sys.path.insert(0, str(MODELS_FOLDER))
    import pymc_models
    print(f"{'model':<26} {'mode':<8} {'first, s':>9} {'CPU, s':>8} {'call, us':>10}  value")
    for name in options.models.split(",") if options.models else pymc_models.MODELS:
        for mode in options.modes.split(","):
            with tempfile.TemporaryDirectory() as empty:
                folder = Path(options.folder or empty) / f"{name}-{mode}"
                if options.warm and not options.folder:
                    measured(name, mode, folder, 0)
                found = measured(name, mode, folder)
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(found) + "\n")
            if "error" in found:
                print(f"{name:<26} {mode:<8} {found['error']}", flush=True)
            else:
                print(f"{name:<26} {mode:<8} {found['first']:9.2f} {found['first_cpu']:8.2f} {found['call_us']:10.1f}  "
                      f"{found['value']:.6f}", flush=True)


if __name__ == "__main__":
    main()
