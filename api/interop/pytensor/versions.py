"""The versions of PyTensor that the translation was tested with."""
import re
import warnings

OLDEST, NEWEST = (2, 38), (2, 38)                       # both are tested


def check_versions():
    """Say clearly if PyTensor is missing or of another version.

    Raises
    ------
    ImportError
        If PyTensor is not installed, or older than the oldest version tested.
    """
    try:
        import pytensor
    except ImportError as error:
        raise ImportError("phintys.interop.pytensor needs PyTensor, which is not installed: "
                          "pip install phintys[pytensor]") from error
    found = version_of(pytensor.__version__)
    if found < OLDEST:
        raise ImportError(f"phintys.interop.pytensor needs PyTensor {text_of(OLDEST)} or newer, and was tested up to "
                          f"{text_of(NEWEST)}; version {pytensor.__version__} is installed")
    if found > NEWEST:
        warnings.warn(f"phintys.interop.pytensor was tested with PyTensor {text_of(OLDEST)} to {text_of(NEWEST)}; "
                      f"version {pytensor.__version__} is installed, and its ops may have changed",
                      stacklevel=3)


def version_of(text):
    """``"2.38.3"`` → ``(2, 38)``."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def text_of(version):
    return ".".join(map(str, version))
