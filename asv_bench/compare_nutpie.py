"""Twenty PyMC models, from the model to the posterior: nutpie on phintys and on Numba, numpyro, what ``pm.sample``
chooses by itself, and PyMC's own NUTS.

    python asv_bench/compare_nutpie.py [--ways phintys,numba,numpyro,pymc,nuts] [--models NAME,...] [--json FILE]
    python asv_bench/compare_nutpie.py --table --json FILE

Each run is a process of its own. Its seconds are those of the processor for all that happens between the model and four
chains of 1,000 draws after 1,000 of tuning, compiling included, children included; importing the libraries and writing
the model come before. The first run of a model and a way has empty caches, later ones have those that it filled. The
ways take turns. Effective samples are the least of all variables' (bulk); memory is the most that the process had.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRAWS = 1000
WAYS = {"phintys": "nutpie, phintys", "numba": "nutpie, Numba", "numpyro": "numpyro", "pymc": "pm.sample",
        "nuts": "PyMC's NUTS"}
SAMPLERS = {"numpyro": "numpyro", "nuts": "pymc"}       # those that `pm.sample` is told to take

PROGRAM = """
import json, logging, resource, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import arviz, nutpie, numpy as np, pymc as pm, pymc_models
way, name, draws, sampler = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if way == "phintys":
    from phintys.interop.nutpie import compile_pymc_model
else:
    compile_pymc_model = nutpie.compile_pymc_model
if way == "numpyro":
    import jax, numpyro
    jax.config.update("jax_enable_x64", True)

def spent():
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                  resource.RUSAGE_CHILDREN)))

model = pymc_models.MODELS[name]()
begin = spent()
compiled = None
if way in ("phintys", "numba"):
    ready = compile_pymc_model(model)
    compiled = spent() - begin
    found = nutpie.sample(ready, draws=draws, tune=draws, chains=4, cores=2, seed=1, progress_bar=False)
else:
    with model:
        found = pm.sample(draws, tune=draws, chains=4, cores=2, random_seed=1, progressbar=False,
                          compute_convergence_checks=False, nuts_sampler=sampler or None)
seconds = spent() - begin
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
posterior = found.posterior.to_dataset()[[variable.name for variable in model.free_RVs]]
size = arviz.ess(posterior)
print(json.dumps({
    "model": name, "way": way, "seconds": seconds, "compile": compiled,
    "effective": float(min(size[variable].min() for variable in posterior.data_vars)),
    "diverging": int(found.sample_stats["diverging"].sum()),
    "gradients": int(found.sample_stats["n_steps"].sum()) if "n_steps" in found.sample_stats else None,
    "megabytes": most,
    "means": {variable: posterior[variable].mean(["chain", "draw"]).values.ravel()[:5].tolist()
              for variable in posterior.data_vars}}))
"""


def measured(way, name, folder, draws):
    """What one run says, or why it failed."""
    environment = dict(os.environ, PYTENSOR_FLAGS=f"base_compiledir={folder}", OMP_NUM_THREADS="1",
                       NUMBA_CACHE_DIR=str(folder), XLA_FLAGS="--xla_cpu_multi_thread_eigen=false",
                       JAX_COMPILATION_CACHE_DIR=str(folder), JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                       PYTHONPATH=os.pathsep.join([str(ROOT / "tests/support"), os.environ.get("PYTHONPATH", "")]))
    found = subprocess.run([sys.executable, "-c", PROGRAM, way, name, str(draws), SAMPLERS.get(way, "")],
                           env=environment, text=True, capture_output=True)
    if found.returncode:
        return {"model": name, "way": way, "error": (found.stderr.strip().splitlines() or ["?"])[-1][:200]}
    return json.loads(found.stdout.splitlines()[-1])


def print_table(path):
    """The least seconds of each way with empty and with filled caches, and how many times more others take then."""
    least, found = {}, [json.loads(line) for line in Path(path).read_text().splitlines()]
    for run in found:
        key = run["model"], run["way"], run["caches"]
        least[key] = min(least.get(key, float("inf")), run.get("seconds", float("inf")))
    columns = [(way, caches) for caches in ("cold", "warm") for way in WAYS
               if any(key[1:] == (way, caches) for key in least)]
    print("| seconds | " + " | ".join(f"{WAYS[way]}, {caches}" for way, caches in columns) + " |\n|---"
          + "|---" * len(columns) + "|")
    for model in dict.fromkeys(run["model"] for run in found):
        cells = []
        for way, caches in columns:
            seconds = least.get((model, way, caches), float("inf"))
            times = seconds / least.get((model, "phintys", caches), float("inf"))
            cells.append("" if seconds == float("inf") else f"{seconds:.2f}" + f" ({times:.1f})" * (way != "phintys"))
        print(f"| {model} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--models", help="names, with commas between them; all by default")
    parser.add_argument("--runs", type=int, default=2, help="for each way and model; the first has empty caches")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--json", help="a file to which one line for each run is added")
    parser.add_argument("--table", action="store_true", help="print what the file has as a table, instead of measuring")
    options = parser.parse_args()
    if options.table:
        print_table(options.json)
        return
    sys.path.insert(0, str(ROOT / "tests/support"))
    import pymc_models
    for name in (options.models or ",".join(pymc_models.MODELS)).split(","):
        with tempfile.TemporaryDirectory() as folder:
            for run in range(options.runs):
                for way in options.ways.split(","):
                    found = measured(way, name, Path(folder) / way, options.draws)
                    found["caches"] = "warm" if run else "cold"
                    if options.json:
                        with open(options.json, "a") as file:
                            file.write(json.dumps(found) + "\n")
                    print({key: value for key, value in found.items() if key != "means"}, flush=True)


if __name__ == "__main__":
    main()
