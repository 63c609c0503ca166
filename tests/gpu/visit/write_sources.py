"""A plugin of pytest: writes each CUDA source that a session compiled to the folder $PHINTYS_WRITE_SOURCES."""
import hashlib
import os
from pathlib import Path


def pytest_sessionfinish(session):
    from phintys.gpu.runtime import compiler
    folder = Path(os.environ["PHINTYS_WRITE_SOURCES"])
    for source, *_ in compiler._compiled:
        path = folder / f"{hashlib.sha256(source.encode()).hexdigest()}.cu"
        if not path.exists():
            path.write_text(source)
