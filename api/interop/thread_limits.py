"""Registers phintys' threads with threadpoolctl, as soon as both packages are imported.

``threadpool_info()`` then lists them, and ``threadpool_limits(1)`` makes all loops use one thread, also those of
functions that are already compiled. Importing phintys does not import threadpoolctl: a finder waits until a program
imports it, and is then removed. A limit is stored in C, with the workers; ``config.workers`` does not change.
"""
from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

NAME = "threadpoolctl"


class _WaitingFinder:
    """Finds threadpoolctl as Python itself does, with a loader that registers the threads afterwards."""

    def __init__(self, version):
        self.version = version

    def find_spec(self, fullname, path=None, target=None):
        if fullname != NAME:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader, self)
        return spec


class _RegisteringLoader:
    """Loads the module by its own loader, and restores that loader; then the finder is not needed any more."""

    def __init__(self, loader, finder):
        self.loader, self.finder = loader, finder

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        register(module, self.finder.version)


def register(module: Any, version: str) -> None:
    """Register the threads with ``module``, which is threadpoolctl. Before version 3.2 its set of libraries is
    fixed."""
    if hasattr(module, "register"):
        module.register(_controller(module.LibController, version))


def _controller(base, version):
    class PhintysController(base):
        """The threads of phintys: the library is the extension module that has them."""

        user_api = internal_api = "phintys"
        filename_prefixes = ("workers.",)
        check_symbols = ("phintys_set_thread_limit", "phintys_thread_limit")

        def get_num_threads(self):
            limit = self.dynlib.phintys_thread_limit()
            return min(limit, _threads()) if limit else _threads()

        def set_num_threads(self, num_threads):
            # The number that phintys would use anyway sets no limit, because config.workers may be raised later.
            self.dynlib.phintys_set_thread_limit(0 if num_threads >= _threads() else max(1, int(num_threads)))

        def get_version(self):
            return version

    return PhintysController


def _threads():
    return import_module("phintys.vm.worker_count").usable_workers()


def register_soon(version: str) -> None:
    """Register the threads now if threadpoolctl is imported, otherwise as soon as it is."""
    if NAME in sys.modules:
        register(sys.modules[NAME], version)
    else:
        sys.meta_path.insert(0, _WaitingFinder(version))
