"""Theano's ``compile.profiling``: profiles of functions and of loops."""
from phintys.reports.profile_stats import ProfileStats, print_global_stats, register_profiler_printer
from phintys.reports.scan_profile import ScanProfileStats

__all__ = ["ProfileStats", "ScanProfileStats", "print_global_stats", "register_profiler_printer"]
