"""The versions of PyTensor that the translation supports; none is imported with a wrong one."""
import re
import warnings

OLDEST, NEWEST = (2, 38), (2, 38)                       # both are tested


def check_versions():
    """Say clearly if PyTensor is missing or of another version.

    Raises
    ------
    ImportError
        If PyTensor is not installed, older than the oldest version tested, or newer by a major version.
    """
    try:
        import pytensor
    except ImportError as error:
        raise ImportError("phintys.interop.pytensor needs PyTensor, which is not installed: "
                          "pip install phintys[pytensor]") from error
    found = version_of(pytensor.__version__)
    supported = text_of(OLDEST) if OLDEST == NEWEST else f"{text_of(OLDEST)} to {text_of(NEWEST)}"
    if found < OLDEST or found[0] > NEWEST[0]:
        raise ImportError(f"phintys.interop.pytensor supports PyTensor {supported} (which PyMC 5 uses), not version "
                          f"{pytensor.__version__}, which is installed: pip install phintys[pytensor]")
    if found > NEWEST:
        warnings.warn(f"phintys.interop.pytensor was tested with PyTensor {supported}; version "
                      f"{pytensor.__version__} is installed, and its ops may have changed",
                      stacklevel=3)


def version_of(text):
    """``"2.38.3"`` → ``(2, 38)``."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def text_of(version):
    return ".".join(map(str, version))
