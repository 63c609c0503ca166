"""Mutants of Cython and C: all changes of a module are compiled at once, and a number says which one is alive.

``python tests/campaign/native_mutants.py vm.machine.copies tests/vm/machine ...`` copies the tree to ``build/mutants``,
writes each changed line beside the line as it is, builds the module, and runs the tests in it: first to see which test
comes to which change, then, for each change, those tests in a forked process, the shortest first. It prints those that
no test notices, and those that no test comes to. ``native_equivalent.txt`` lists those that nobody can notice.
"""
import argparse
import ctypes
import faulthandler
import importlib.util
import json
import mmap
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST = 4096                                         # changes of a module
MACHINE = ["tests/vm/machine/test_" + name + ".py" for name in (
    "epochs", "mutable_layouts", "results_and_updates", "reused_results", "covering_programs")]
# Modules, and the tests that should notice what changes in them.
MODULES = {"vm.linking.layout_search": ["tests/vm/linking/test_plan.py"],
           "vm.containers.claims": ["tests/vm/containers"], "vm.containers.container": ["tests/vm/containers"],
           "vm.pool": ["tests/vm/test_pool_and_workers.py", "tests/vm/test_guards.py"],
           "vm.conversion": ["tests/vm/test_conversion.py", "tests/vm/callables/test_hostile_arguments.py"],
           "vm.machine.group": ["tests/vm/linking/test_side_by_side.py"],
           **dict.fromkeys(("vm.machine.copies", "vm.machine.slots", "vm.machine.results"), MACHINE)}
HEADER = """#ifndef PHINTYS_MUTANT
#define PHINTYS_MUTANT
#include <stdlib.h>
static int phintys_none[1];
static unsigned char phintys_nowhere[MOST];
static int* phintys_alive = phintys_none;
static unsigned char* phintys_reached = phintys_nowhere;
__attribute__((constructor)) static void phintys_find_mutant(void) {
    const char* address = getenv("PHINTYS_MUTANT_ADDRESS");
    if (address == NULL) return;
    phintys_alive = (int*)strtoull(address, NULL, 10);
    phintys_reached = (unsigned char*)(phintys_alive + 1);
}
static inline int phintys_mutant(int number) {
    phintys_reached[number] = 1;
    return *phintys_alive == number;
}
#endif
""".replace("MOST", str(MOST))
DECLARED = ('cdef extern from "phintys_mutant.h":\n    int phintys_mutant(int) noexcept nogil\n\n')

# What stands for what, in both languages; then in one of them.
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
           (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" & ", " | "), (r" \+= ", " -= "), (r" -= ", " += "),
           (r"(?<![\w.])(\d+)(?![\w.])", lambda found: str(int(found[1]) + 1))]
IN_CYTHON = [(r" and ", " or "), (r" or ", " and "), (r" is not ", " is "), (r" is (?!not)", " is not "),
             (r"\bTrue\b", "False"), (r"\bFalse\b", "True"), (r"\bnot ", "")]
IN_C = [(r" && ", " || "), (r" \|\| ", " && "), (r"!(?=[\w(])", "")]


def variants(text, changes):
    """(what changes, the changed text) for each place in a line."""
    found = []
    for pattern, new in changes:
        for place in re.finditer(pattern, text):
            put = new(place) if callable(new) else new
            found.append((f"{put.strip() or 'nothing'} for {place[0].strip()}", text[:place.start()] + put
                          + text[place.end():]))
    return found


def is_whole(text):
    """Whether brackets are closed and no string begins."""
    return all([text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")]) and not re.search(r"[\"'\\]", text)


class Rewriter:
    """Writes changed lines beside those of a file; ``sites`` are (number, file, line, change, text)."""

    def __init__(self):
        self.sites = []

    def numbered(self, path, line, text, found):
        """(number, changed text) of each change, which are noted."""
        rows = []
        for what, changed in found:
            if len(self.sites) + 2 < MOST:
                self.sites.append((len(self.sites) + 1, path, line, what, text.strip()))
                rows.append((len(self.sites), changed))
        return rows

    def cython(self, path, text):
        lines, in_text, in_function, begun = [], False, False, False
        for number, line in enumerate(text.split("\n"), 1):
            quotes = line.count('"""')
            body = line.split("#")[0].rstrip()
            if not begun and re.match(r"(cimport|from|import|cdef) ", line):
                lines += DECLARED.split("\n")
                begun = True
            if re.match(r"(\s*)(cdef|cpdef|def|async def)\b.*\):?.*:$", body):
                in_function = True
            elif re.match(r"(cdef (class|enum|struct|extern)|class )", line) or re.match(r"\S", line):
                in_function = False
            usable = in_function and not in_text and not quotes and is_whole(body)
            in_text ^= quotes % 2 == 1
            lines += self.cython_line(path, number, body) if usable else [line]
        return "\n".join(lines)

    def cython_line(self, path, number, line):
        head = re.match(r"(\s+)(if|elif|while) (.*):$", line)
        if head:
            found = variants(head[3], CHANGES + IN_CYTHON) + [("negated", f"not ({head[3]})")]
            condition = f"<bint>({head[3]})"
            for mutant, changed in self.numbered(path, number, line, found):
                condition = f"(<bint>({changed}) if phintys_mutant({mutant}) else {condition})"
            return [f"{head[1]}{head[2]} {condition}:"]
        if not re.match(r"\s+(return .+|[\w.\[\], *+-]+ [-+*|&]?= .+|[\w.]+\(.*\))$", line) or re.match(
                r"\s+(cdef|cpdef|def|del|print|raise|global|with|for|assert|yield)\b", line):
            return [line]
        indent = re.match(r"\s+", line)[0]
        found = variants(line, CHANGES + IN_CYTHON)
        if re.match(r"\s+([\w.]+\(.*\)|.* [-+*|&]= .*)$", line) and not line.strip().startswith("return"):
            found.append(("dropped", f"{indent}pass"))
        rows = self.numbered(path, number, line, found)
        out = []
        for mutant, changed in rows:
            out += [f"{indent}{'elif' if out else 'if'} phintys_mutant({mutant}):", f"    {changed}"]
        return [*out, f"{indent}else:", f"    {line}"] if out else [line]

    def c(self, path, text):
        lines, in_comment, in_macro = ['#include "phintys_mutant.h"'], False, False
        for number, line in enumerate(text.split("\n"), 1):
            usable = not in_comment and not in_macro and not line.lstrip().startswith("#") and line.startswith("    ")
            in_macro = line.endswith("\\")
            body = line.split("/*")[0].rstrip()
            in_comment = (in_comment or "/*" in line) and "*/" not in line.split("/*")[-1]
            lines.append(self.c_line(path, number, body) if usable and is_whole(body.replace("{", "")
                                                                               .replace("}", "")) else line)
        return "\n".join(lines)

    def c_line(self, path, number, line):
        head = re.match(r"(\s+(?:\} else )?(?:if|while) )\((.*)\)( \{| (?:return|break|continue)[^()]*;)$", line)
        if head and is_whole(head[2]):
            found = variants(head[2], CHANGES + IN_C) + [("negated", f"!({head[2]})")]
            condition = f"({head[2]})"
            for mutant, changed in self.numbered(path, number, line, found):
                condition = f"(phintys_mutant({mutant}) ? ({changed}) != 0 : {condition} != 0)"
            return f"{head[1]}{condition}{head[3]}"
        if not re.match(r"\s+(return .+|[\w.\[\]>*-]+ [-+*|&]?= .+);$", line):
            return line
        indent = re.match(r"\s+", line)[0]
        out = "".join([f"if (phintys_mutant({mutant})) {{ {changed.strip()} }} else "
                       for mutant, changed in self.numbered(path, number, line, variants(line, CHANGES + IN_C))])
        return f"{indent}{out}{{ {line.strip()} }}" if out else line


def build(module, tree):
    """Copy what a build needs, rewrite the module and its headers, and build it; returns (the library, the sites)."""
    if not tree.exists():
        shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv*", "build", "*.so"))
    source, rewriter = Path(*module.split(".")).with_suffix(".pyx"), Rewriter()
    folder = ROOT / source.parent
    text = (ROOT / source).read_text()
    included = re.findall(r'(?:include|extern from) "([\w./]+\.(?:pxi|h))"', text)
    parts = [source, *[path.relative_to(ROOT) for name in included for path in (folder / name, ROOT / "vm" / name)
                       if path.is_file() and "template" not in name]]
    (tree / source.parts[0] / "phintys_mutant.h").write_text(HEADER)
    for part in dict.fromkeys(parts):
        text = (ROOT / part).read_text()
        new = rewriter.c(part.as_posix(), text) if part.suffix == ".h" else rewriter.cython(part.as_posix(), text)
        if part.suffix == ".pxi":
            new = new.replace(DECLARED, "")
        (tree / part).write_text(new)
    environment = {**os.environ, "PHINTYS_ONLY": module, "PHINTYS_DEBUG": "1"}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tree, env=environment, check=True)
    for part in dict.fromkeys(parts):
        (tree / part).write_text((ROOT / part).read_text())
    return tree / source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX")), rewriter.sites


class Finder:
    """Finds the changed module."""

    def __init__(self, name, library):
        self.name, self.library = f"phintys.{name}", library

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.library)
        return None


class Runner:
    """A plugin of pytest: which tests come to which change, and which changes they notice."""

    def __init__(self, memory, sites, choose, equivalent):
        self.memory, self.sites, self.choose, self.equivalent = memory, sites, choose, equivalent
        self.survivors, self.unreached, self.noticed = [], [], 0

    def child(self, session, items, alive, observe=None, seconds=120):
        """The status of a forked process that runs tests until one fails; None if it does not end."""
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            faulthandler.disable()
            ctypes.c_int.from_buffer(self.memory).value = alive
            for item, after in zip(items, [*items[1:], None]):
                start = time.monotonic()
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if observe is not None:
                    observe(item, time.monotonic() - start)
                elif session.testsfailed:
                    break
            if observe is not None:
                observe(None, session.testsfailed)
            os._exit(bool(session.testsfailed))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None

    def pytest_runtestloop(self, session):
        path, seen = Path(f"{os.environ.get('TMPDIR', '/tmp')}/phintys-reached-{os.getpid()}"), {}

        def observe(item, seconds):
            if item is None:
                path.write_bytes(pickle.dumps((seen, seconds)))
                return
            seen[item.nodeid] = seconds, [n for n in range(1, len(self.sites) + 1) if self.memory[4 + n]]
            self.memory[4:4 + MOST] = bytes(MOST)

        self.child(session, session.items, 0, observe, 3000)
        seen, failed = pickle.loads(path.read_bytes())
        path.unlink()
        assert not failed, f"{failed} tests fail without a change"
        for number, file, line, what, text in self.choose(self.sites):
            if (file, what, text) in self.equivalent:
                continue
            items = sorted([item for item in session.items if number in seen[item.nodeid][1]],
                           key=lambda item: seen[item.nodeid][0])
            if not items:
                self.unreached.append(f"{file}:{line}, {what}: {text}")
            elif self.child(session, items, number) == 0:
                self.survivors.append(f"{file}:{line}, {what}: {text}")
                print(f"\nnot noticed by {len(items)} tests: {self.survivors[-1]}", flush=True)
            else:
                self.noticed += 1
        return True


def examine(module, tests, count, seed, tree):
    """The results of a module, as text."""
    library, sites = build(module, tree)
    memory = mmap.mmap(-1, 4 + MOST)
    os.environ["PHINTYS_MUTANT_ADDRESS"] = str(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    sys.meta_path.insert(0, Finder(module, library))
    rows = [row.split(" | ") for row in (HERE / "native_equivalent.txt").read_text().splitlines()
            if row and not row.startswith("#")]
    runner = Runner(memory, sites, lambda sites: random.Random(seed).sample(sites, min(count, len(sites))),
                    {(file, what, text) for file, text, what, *_ in rows})
    import pytest
    pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests], plugins=[runner])
    return {"module": module, "sites": len(sites), "noticed": runner.noticed, "survivors": runner.survivors,
            "unreached": runner.unreached}


def survivors_of(number):
    """30 changes of a module chosen by the number; raises those that are not noticed. A run of a process of its own."""
    module = sorted(MODULES)[number % len(MODULES)]
    done = subprocess.run([sys.executable, str(HERE / "native_mutants.py"), module, *MODULES[module], "--count", "30",
                           "--seed", str(number // len(MODULES))], cwd=ROOT, capture_output=True, text=True)
    found = json.loads(done.stdout[done.stdout.rindex("\n{"):])
    assert not found["survivors"] + found["unreached"], "\n".join(found["survivors"] + found["unreached"])
    return found["noticed"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tree", default=str(ROOT / "build" / "mutants"))
    options = parser.parse_args()
    print(json.dumps(examine(options.module, options.tests, options.count, options.seed, Path(options.tree)), indent=1))
