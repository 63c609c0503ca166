"""Campaigns: ``python -I tests/campaign/run.py NAME [--minutes M] [--results FOLDER]`` (``make campaign-NAME``).

A campaign is a row of numbered units (``campaigns.py``), endless or not. A run goes on where the result file of the
last one says, until its minutes are over. Units run in a process of their own, which is started again behind a unit
that ended it. What a unit raises, and how it ended its process, is a find; the result file lists the finds, the number
of units and checks, and when and on what they ran. ``docs/write_reliability.py`` makes a page of these files.
"""
import argparse
import faulthandler
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]


def commit():
    """The tree that is tested; unknown where there is no git."""
    found = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def work(name, first, seconds):
    """The child: run units, and write a line before and after each."""
    from campaigns import CAMPAIGNS
    faulthandler.enable()
    campaign, end = CAMPAIGNS[name], time.monotonic() + seconds
    for number in range(first, campaign.count if campaign.count is not None else sys.maxsize):
        if time.monotonic() > end:
            return
        print(json.dumps({"begun": number}), flush=True)
        try:
            done = {"checks": campaign.unit(number)}
        except Exception:
            done = {"find": traceback.format_exc(limit=-3)[-2000:]}
        print(json.dumps({"done": number, **done}), flush=True)


def follow(name, result, seconds):
    """The parent: one child, whose lines go into the result. Returns whether it began a unit."""
    command = [sys.executable, "-I", str(HERE / "run.py"), name, "--work", str(result["next"]), str(seconds)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = None
    for text in child.stdout:
        if not text.startswith("{"):
            continue                                # a test of the unit has printed something
        line = json.loads(text)
        if "begun" in line:
            begun = line["begun"]
            continue
        result["next"] = line["done"] + 1
        result["units"] += 1
        result["checks"] += line.get("checks", 0)
        if "find" in line:
            result["finds"].append({"unit": line["done"], "what": line["find"]})
    said = child.stderr.read()
    if child.wait() and begun is not None and begun >= result["next"]:
        result["finds"].append({"unit": begun, "what": f"ended its process with {child.returncode}: {said[-2000:]}"})
        result["units"] += 1
        result["next"] = begun + 1
    elif child.returncode and begun is None:
        raise SystemExit(said)
    return begun is not None


def run(name, minutes, folder):
    """Go on with a campaign; returns its result."""
    from campaigns import CAMPAIGNS
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {"campaign": name, "what": CAMPAIGNS[name].what, "next": 0, "units": 0, "checks": 0, "finds": [],
              "runs": []}
    if path.exists():
        result.update(json.loads(path.read_text()))
    start, count = time.monotonic(), CAMPAIGNS[name].count
    before = result["units"], result["checks"], len(result["finds"])
    while (left := 60 * minutes - (time.monotonic() - start)) > 0 and (count is None or result["next"] < count):
        if not follow(name, result, left):
            break
    units, checks, finds = result["units"], result["checks"], len(result["finds"])
    result["runs"].append({
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "commit": commit(),
        "python": platform.python_version(), "processor": platform.machine(),
        "seconds": round(time.monotonic() - start), "units": units - before[0], "checks": checks - before[1],
        "finds": finds - before[2]})
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(fresh, path)
    return result


def main():
    """From a shell; the exit status says whether there are finds."""
    from campaigns import CAMPAIGNS
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=CAMPAIGNS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--results", default=str(ROOT / "build" / "campaign"))
    parser.add_argument("--work", nargs=2, metavar=("FIRST", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.name, int(options.work[0]), float(options.work[1]))
        return
    result = run(options.name, options.minutes, options.results)
    last = result["runs"][-1]
    print(f"{options.name}: {last['units']} units, {last['checks']} checks, {last['finds']} finds in "
          f"{last['seconds']} s; {result['units']} units in all")
    for find in result["finds"][len(result["finds"]) - last["finds"]:]:
        print(f"unit {find['unit']}: {find['what']}")
    sys.exit(bool(last["finds"]))


if __name__ == "__main__":
    main()
