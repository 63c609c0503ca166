"""Twenty PyMC models by phintys and PyTensor's other back ends: time to the first value and gradient, and of a call.

    python asv_bench/compare_pymc.py [--modes PHINTYS,NUMBA,CVM,JAX] [--models NAME,...] [--warm] [--json FILE]
    python asv_bench/compare_pymc.py --sample eight_schools,radon
    python asv_bench/compare_pymc.py --table --json FILE
    python asv_bench/compare_pymc.py --picture docs/images/pymc_models.png

It runs with all supported versions of PyTensor and PyMC, those installed. Each pair of a model and a mode has a process
of its own. Without ``--warm`` PyTensor's cache of compiled code is empty when the process begins; with it, it was
filled by a run before. Times to the first value are of the processor, compilers included, and in two parts: what PyMC
does before it calls ``pytensor.function`` (it writes the log-density and its gradient as a graph, which is the same
work for all modes), and the rest: rewrites, compiling, the first call. Times of calls are of the processor, too: the
processes of a model are all prepared, then they take turns; the shortest turn counts. What is timed is what samplers
call: PyTensor's function of a flat vector, with ``trust_input``. ``--resume`` leaves out the pairs that the file of
results has. ``--sample`` measures ``pm.sample`` instead, by PyMC's own sampler: two chains of 1,000 draws after 1,000
of tuning, in one process, and the memory that this process has at the end.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODELS_FOLDER, PAGE = ROOT / "tests/support", ROOT / "docs/pymc.md"
CALLS = 15                              # turns; the shortest counts
COMPILED = ("C", "CVM")                 # the modes that need a compiler

PREPARED = """
import gc, json, os, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, pymc as pm, pymc_models, pytensor
from pymc.blocking import DictToArrayBijection
name, mode = sys.argv[1:]
if mode == "PHINTYS":
    import phintys.interop.pytensor
if mode == "JAX":
    import jax
    jax.config.update("jax_enable_x64", True)
def spent():
    return sum(os.times()[:4])
model = pymc_models.MODELS[name]()
model.logp_dlogp_function(ravel_inputs=True, mode=pytensor.compile.mode.Mode("py", None))   # PyMC's own caches
"""
CALLED = PREPARED + """
point = DictToArrayBijection.map(model.initial_point()).data
point = point + 0.3 * np.random.default_rng(1).normal(size=point.shape)
def compiling(*arguments, **options):
    global graph_cpu
    gc.collect()                        # what PyMC's work has left; else a part of what follows pays for it, by chance
    graph_cpu = spent() - cpu
    return compile_graph(*arguments, **options)
compile_graph, pytensor.function = pytensor.function, compiling
gc.collect()
gc.freeze()                             # of PyMC's modules; collecting what follows then takes little
start, cpu = time.perf_counter(), spent()
f = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
f.set_extra_values({})
f = f._pytensor_function
f.trust_input = True
if mode == "JAX":                       # its calls return before the values are there
    begun = f
    f = lambda point: jax.block_until_ready(begun(point))
value = f(point)
first, first_cpu = time.perf_counter() - start, spent() - cpu
count = 1
while True:
    start = time.perf_counter()
    for _ in range(count):
        f(point)
    if time.perf_counter() - start > 0.02:
        break
    count *= 2
print("prepared", flush=True)
best = float("inf")
while sys.stdin.readline() == "again\\n":
    start = time.process_time()
    for _ in range(count):
        f(point)
    best = min(best, (time.process_time() - start) / count)
    print("called", flush=True)
print(json.dumps({"model": name, "mode": mode, "first": first, "first_cpu": first_cpu, "graph_cpu": graph_cpu,
                  "call_us": best * 1e6, "value": float(value[0])}))
"""
SAMPLED = PREPARED + """
print("prepared", flush=True)
sys.stdin.readline()
options = dict(tune=1000, chains=2, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
               nuts_sampler="pymc", compile_kwargs={"mode": mode})
sample = pm.sample
if mode == "PHINTYS":
    from phintys.interop.pymc import sample
start, cpu = time.perf_counter(), spent()
with model:
    sample(1000, **options)
memory, = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(json.dumps({"model": name, "mode": mode, "sample": time.perf_counter() - start, "sample_cpu": spent() - cpu,
                  "memory_mb": int(memory) / 1024}))
"""


def prepared(program, name, mode, folder):
    """A process that has compiled a model, and waits; or what is known of one that failed."""
    flags = f"base_compiledir={folder}" + ("" if mode in COMPILED else ",cxx=")
    environment = dict(os.environ, PYTENSOR_FLAGS=flags, PYTHONPATH=str(MODELS_FOLDER), OMP_NUM_THREADS="1",
                       XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    process = subprocess.Popen([sys.executable, "-c", program, name, mode], env=environment, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = iter(process.stdout.readline, "")
    if "prepared" not in [line.strip() for line in _until("prepared", lines)]:
        return {"model": name, "mode": mode, "error": process.stderr.read().strip().splitlines()[-1][:200]}
    return process


def _until(wanted, lines):
    for line in lines:
        yield line
        if line.strip() == wanted:
            return


def measured(program, name, modes, folders, quiet=None, calls=CALLS):
    """What the processes of a model say, one for each mode.

    Parameters
    ----------
    quiet : str, optional
        A command that keeps the machine quiet until its input ends, and copies its input, as ``cat`` does.
    """
    processes = [prepared(program, name, mode, folder) for mode, folder in zip(modes, folders)]
    keeper = None
    if quiet:
        keeper = subprocess.Popen(shlex.split(quiet), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        keeper.stdin.write("quiet?\n")
        keeper.stdin.flush()
        keeper.stdout.readline()
    found = [process if isinstance(process, dict) else None for process in processes]
    if program == CALLED:
        take_turns([process for process, known in zip(processes, found) if known is None], calls)
    for number, process in enumerate(processes):
        if found[number] is None:
            said, _ = process.communicate("done\n")
            found[number] = json.loads(said.splitlines()[-1])
    if keeper:
        keeper.communicate()
    return found


def take_turns(processes, calls):
    """Let processes time their calls, one after the other, so often; so what else the machine does slows all alike."""
    for _ in range(calls):
        for process in processes:
            process.stdin.write("again\n")
            process.stdin.flush()
            process.stdout.readline()


TITLES = {"PHINTYS": "phintys", "NUMBA": "PyTensor, Numba", "CVM": "PyTensor, C", "JAX": "PyTensor, JAX"}


def draw(picture):
    """Bars of the numbers in the table of models in docs/pymc.md, a group for each model: so both say the same."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.count("|") == 12]
    modes, models = rows[0][1:5], rows[2:]
    figure, panels = pyplot.subplots(2, 1, figsize=(11, 7), sharex=True, layout="constrained")
    for panel, first, title in zip(panels, (1, 5), (
            "a call of log-density and gradient, µs",
            "until the first value with warm caches, without PyMC's own work, seconds of the processor")):
        for number, mode in enumerate(modes):
            panel.bar([place + 0.8 * number / len(modes) for place in range(len(models))],
                      [float(model[first + number]) for model in models], 0.8 / len(modes), label=mode, align="edge")
        panel.set_yscale("log")
        panel.set_title(title, loc="left", fontsize=10)
        panel.grid(axis="y", alpha=0.3)
    panels[0].legend(ncols=len(modes), fontsize=9, frameon=False)
    panels[1].set_xticks([place + 0.4 for place in range(len(models))], [model[0] for model in models], rotation=35,
                         ha="right", fontsize=9)
    figure.savefig(picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="PHINTYS,NUMBA,CVM,JAX")
    parser.add_argument("--models", help="names, with commas between them; all by default")
    parser.add_argument("--sample", help="names of models to sample from, instead of timing calls")
    parser.add_argument("--warm", action="store_true", help="run twice, and show the second")
    parser.add_argument("--folder", help="where PyTensor keeps its caches, one for each pair; else a temporary one")
    parser.add_argument("--quiet", help="a command that keeps the machine quiet until its input ends, and copies it")
    parser.add_argument("--calls", type=int, default=CALLS, help="how often calls are timed; 0: not at all")
    parser.add_argument("--json", help="a file to which one line for each pair is added")
    parser.add_argument("--resume", action="store_true", help="leave out the pairs that the file has")
    parser.add_argument("--table", action="store_true", help="print what the file has as tables, instead of measuring")
    parser.add_argument("--picture", help="draw the table of docs/pymc.md into this file, instead of measuring")
    options = parser.parse_args()
    if options.picture:
        draw(options.picture)
        return
    if options.table:
        print_tables(options.json)
        return
    sys.path.insert(0, str(MODELS_FOLDER))
    import pymc_models
    program = SAMPLED if options.sample else CALLED
    caches = "warm" if options.warm else "cold"
    known = known_pairs(options.json, caches) if options.resume else set()
    print(TITLE_OF_SAMPLES if options.sample else TITLE_OF_CALLS)
    for name in (options.sample or options.models or ",".join(pymc_models.MODELS)).split(","):
        modes = [mode for mode in options.modes.split(",") if (name, mode) not in known]
        with tempfile.TemporaryDirectory() as empty:
            folders = [Path(options.folder or empty) / f"{name}-{mode}" for mode in modes]
            if options.warm and not options.folder:
                measured(program, name, modes, folders, calls=0)
            for found in measured(program, name, modes, folders, options.quiet, options.calls):
                report(dict(found, caches=caches), options.json)


def results(path):
    """The lines of a file of results."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def known_pairs(path, caches):
    """The pairs of model and mode that a file of results has, with cold or with warm caches."""
    if not os.path.exists(path):
        return set()
    return {(found["model"], found["mode"]) for found in results(path)
            if found.get("caches") == caches and "error" not in found}


def print_tables(path):
    """The least times that a file has, in Markdown: of calls, then of the first value with cold and warm caches."""
    least = {}
    for found in results(path):
        found["own_cpu"] = found.get("first_cpu", float("inf")) - found.get("graph_cpu", 0)
        for kind in ("call_us", "first_cpu", "own_cpu"):
            for key in ((found["model"], found["mode"], kind), (found["model"], found["mode"], kind, found["caches"])):
                least[key] = min(least.get(key, float("inf")), found.get(kind, float("inf")))
    models = list(dict.fromkeys(key[0] for key in least))
    modes = [mode for mode in TITLES if any(key[1] == mode for key in least)]
    print("| µs a call | " + " | ".join(TITLES[mode] for mode in modes) + " |\n|---" + "|---" * len(modes) + "|")
    for model in models:
        print(f"| {model} | " + " | ".join(_number(least.get((model, mode, "call_us"))) for mode in modes) + " |")
    for kind, title in (("first_cpu", "all"), ("own_cpu", "without PyMC's graph")):
        heads = [f"{TITLES[mode]}, {caches}" for mode in modes for caches in ("cold", "warm")]
        print(f"\n| seconds, {title} | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
        for model in models:
            cells = [_number(least.get((model, mode, kind, caches))) for mode in modes for caches in ("cold", "warm")]
            print(f"| {model} | " + " | ".join(cells) + " |")


def _number(value):
    """A number with two or three digits; nothing for what was not measured."""
    if value is None or value == float("inf"):
        return ""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


TITLE_OF_CALLS = (f"{'model':<26} {'mode':<8} {'first, s':>9} {'CPU, s':>8} {'PyMC, s':>8} {'rest, s':>8} "
                  f"{'call, us':>10}  value")
TITLE_OF_SAMPLES = f"{'model':<26} {'mode':<8} {'sample, s':>9} {'CPU, s':>8} {'MB':>7}"


def report(found, path):
    """Print what was found of a pair, and add it to a file if there is one."""
    if path:
        with open(path, "a") as file:
            file.write(json.dumps(found) + "\n")
    begin = f"{found['model']:<26} {found['mode']:<8} "
    if "error" in found:
        print(begin + found["error"], flush=True)
    elif "sample" in found:
        print(begin + f"{found['sample']:9.2f} {found['sample_cpu']:8.2f} {found['memory_mb']:7.0f}", flush=True)
    else:
        rest = found["first_cpu"] - found["graph_cpu"]
        print(begin + f"{found['first']:9.2f} {found['first_cpu']:8.2f} {found['graph_cpu']:8.2f} {rest:8.2f} "
              f"{found['call_us']:10.1f}  {found['value']:.6f}", flush=True)


if __name__ == "__main__":
    main()
