"""NVRTC, NVIDIA's compiler as a library: sources become modules without nvcc and without a compiler of C++.

It is the package ``nvidia-cuda-nvrtc`` (58 MB), ``nvidia-cuda-nvrtc-cu12`` for devices older than sm_75, or a part of a
toolkit. It needs no driver and no device, so the tests
compile every source for devices that are not there. It has no headers: what a source needs of ``math.h`` is defined
by options.
"""
import ctypes
from functools import lru_cache
from pathlib import Path

from phintys.gpu.runtime.libraries import names_of, packaged

DEFINITIONS = ("-DINFINITY=__int_as_float(0x7f800000)", "-DNAN=__int_as_float(0x7fffffff)")


class Refused(RuntimeError):
    """A compiler refuses a source, or an option."""


class Nvrtc:
    """The library.

    Attributes
    ----------
    version : str
    architectures : tuple of str
        What it compiles for: "sm_75", ...
    """

    def __init__(self, library):
        self.library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self._check(library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = f"NVRTC {major.value}.{minor.value}"
        self._check(library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
        numbers = (ctypes.c_int * count.value)()
        self._check(library.nvrtcGetSupportedArchs(numbers))
        self.architectures = tuple([f"sm_{number}" for number in numbers])

    def _check(self, error):
        if error:
            raise Refused(self.library.nvrtcGetErrorString(error).decode())

    def compile(self, source, architecture, options=()):
        """The module of a source.

        Parameters
        ----------
        source : str
        architecture : str
            As "sm_90"; or "compute_90" for PTX, of which the driver makes code for its device, whichever this is.
        options : sequence of str

        Returns
        -------
        bytes
            A cubin, or PTX.

        Raises
        ------
        Refused
            With the compiler's messages.
        """
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._check(self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None,
                                                    None))
        try:
            words = [f"-arch={architecture}", *options, *DEFINITIONS]
            array = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
            error = self.library.nvrtcCompileProgram(program, len(words), array)
            if error:
                raise Refused(self._log(program) or self.library.nvrtcGetErrorString(error).decode())
            kind = "PTX" if architecture.startswith("compute_") else "CUBIN"
            self._check(getattr(self.library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
            image = ctypes.create_string_buffer(size.value)
            self._check(getattr(self.library, f"nvrtcGet{kind}")(program, image))
            return image.raw
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def nearest(self, architecture):
        """What to compile PTX for, so that a device runs it: "compute_90" for "sm_93".

        Returns
        -------
        str or None
            None if the device is older than all that the library knows.
        """
        number = _number(architecture)
        below = [known for known in map(_number, self.architectures) if known <= number]
        return f"compute_{max(below)}" if below else None

    def _log(self, program):
        size = ctypes.c_size_t()
        self._check(self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self._check(self.library.nvrtcGetProgramLog(program, text))
        return text.value.decode(errors="replace").strip()


@lru_cache(maxsize=8)
def installed(path=""):
    """The libraries that can be used, the newest first.

    Parameters
    ----------
    path : str
        A library's file; "" stands for the system's, and those of the packages ``nvidia-cuda-nvrtc`` and
        ``nvidia-cuda-nvrtc-cu12``.

    Returns
    -------
    tuple of Nvrtc
        One of each version.
    """
    found = {}
    for name in [path] if path else names_of("nvrtc"):
        folder = Path(name).parent
        for builtins in folder.glob("libnvrtc-builtins.so.*") if folder.name else packaged("libnvrtc-builtins.so.*"):
            _opened(str(builtins), ctypes.RTLD_GLOBAL)      # the library does not find what lies beside it
        library = _opened(name)
        if library is not None:
            try:
                made = Nvrtc(library)
            except (AttributeError, Refused):
                continue                                    # too old to make cubins, or to say for which devices
            found.setdefault(made.version, made)
    return tuple(found.values())


def find_nvrtc(path="", architecture=None):
    """A library that compiles for a kind of device: a new one knows no old devices, an old one no new ones.

    Parameters
    ----------
    path : str
        See `installed`.
    architecture : str, optional
        As "sm_90"; without it the newest library is chosen.

    Returns
    -------
    Nvrtc or None
        None if there is no library; the newest one if none compiles for the device.
    """
    libraries = installed(path)
    able = [library for library in libraries if architecture in library.architectures]
    return next(iter(able or libraries), None)


def _number(architecture):
    """Of "sm_90": 90."""
    return int(architecture.partition("_")[2])


def _opened(name, mode=ctypes.DEFAULT_MODE):
    try:
        return ctypes.CDLL(name, mode=mode)
    except OSError:
        return None
