"""The buffer pool, as users see it: ``phintys.memory.trim()`` gives unused memory back to the system."""
from phintys.vm.pool import pool_statistics as statistics
from phintys.vm.pool import set_pool_limit as set_limit
from phintys.vm.pool import trim_pool as trim

__all__ = ["set_limit", "statistics", "trim"]
