"""The bytes of a saved program: a header, a text (JSON, compressed), and arrays that are used where they lie.

| bytes | what |
|---|---|
| 0 to 15 | ``b"phintys program\n"`` |
| 16 to 19 | number of the format: 1 |
| 20 to 23 | 1 if the file was written with a key, else 0 |
| 24 to 31 | bytes of the text as it is stored, with what fills it up |
| 32 to 39 | bytes of the text |
| 40 to 47 | bytes of the file |
| 48 to 79 | SHA-256 of the bytes 0 to 47 and of the text as it is stored; with a key, its HMAC |
| 80 to … | the text by zlib, and zeros up to a multiple of 64 bytes |
| … | arrays in C order, with zeros before each up to a multiple of 64 bytes |

Numbers are little-endian and without sign. The text is ``{"arrays": [[dtype, shape, SHA-256], ...], ...}``; the digest
of an array is also that of the zeros before it. Every number is checked before it is used, and every digest before
anything is made of the bytes that it covers, and all bytes are covered: a file that is cut off or changed by accident,
wherever, is refused. A digest is no signature, but a HMAC is: only who has the key can make one, and the text has the
digests of all that follows.
"""
import json
import math
import struct
import zlib
from contextlib import suppress
from importlib import import_module

import numpy

from phintys.vm.abi import LARGEST_RANK
from phintys.vm.files.values import DTYPES, FileError

MAGIC = b"phintys program\n"
FORMAT = 1
HEADER = struct.Struct("<16sIIQQQ")
START = HEADER.size + 32            # where the text begins, after the digest
ALIGNMENT = 64
LARGEST_TEXT = 1 << 30
MANY_BYTES = 1 << 18                # from here on OpenSSL saves more than loading it takes


def find_sha256():
    """The function of Python's own module, which has another name from 3.12 on; else that of hashlib."""
    for name in ("_sha2", "_sha256", "hashlib"):
        with suppress(ImportError):
            return import_module(name).sha256
    raise ImportError("this Python has no SHA-256")


own_sha256 = find_sha256()


def digest(*parts):
    """SHA-256 of bytes, by Python's own code unless they are many: OpenSSL's is faster, but loading it takes 3.5 MB,
    which is a third of what a process has that only runs a small program."""
    size = sum([memoryview(part).nbytes for part in parts])
    found = (own_sha256 if size < MANY_BYTES else import_module("hashlib").sha256)()
    for part in parts:
        found.update(part)
    return found.digest()


def seal(key, *parts):
    """The digest of a header and a text, which nobody can make without the key, if there is one."""
    if key is None:
        return digest(*parts)
    import hmac

    made = hmac.new(key, digestmod="sha256")
    for part in parts:
        made.update(part)
    return made.digest()


def aligned(offset):
    """The next offset at which an array may lie."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def pack(content, arrays, key=None):
    """The bytes of a file.

    Parameters
    ----------
    content : dict
        Of what JSON can hold; "arrays" must not be a key.
    arrays : list of ndarray
    key : bytes, optional

    Returns
    -------
    list of bytes-like
        To be written one after the other.
    """
    arrays = [numpy.asarray(array, array.dtype.newbyteorder("<"), "C") for array in arrays]
    # Gaps before arrays depend on where the first may lie only by their own lengths: that is a multiple of 64.
    covered, rows, end = [], [], 0
    for array in arrays:
        gap, content_ = bytes(aligned(end) - end), array.reshape(-1).view("u1").data
        rows.append([array.dtype.str, array.shape, digest(gap, content_).hex()])
        covered += [gap, content_]
        end = aligned(end) + array.nbytes
    text = json.dumps(content | {"arrays": rows}, separators=(",", ":")).encode()
    stored = zlib.compress(text, 6)
    stored += bytes(aligned(START + len(stored)) - START - len(stored))
    header = HEADER.pack(MAGIC, FORMAT, key is not None, len(stored), len(text), START + len(stored) + end)
    return [header, seal(key, header, stored), stored, *covered]


def unpack(data, key=None):
    """What ``pack`` was given: the content, and arrays that look at the memory of ``data``.

    Parameters
    ----------
    data : bytes-like
    key : bytes, optional
        That with which the file was written.

    Raises
    ------
    FileError
        If the data is not exactly what ``pack`` has made, with this key or without one.
    """
    data = memoryview(data).cast("B")
    if len(data) < START or data[:len(MAGIC)] != MAGIC:
        raise FileError(f"the {len(data)} bytes are not a saved program: they do not begin with the header of one")
    _, number, keyed, stored_bytes, text_bytes, file_bytes = HEADER.unpack_from(data)
    if number != FORMAT:
        raise FileError(f"the saved program is damaged, or in the format {number} of another version of phintys: this "
                        f"one reads the format {FORMAT}")
    place = START + stored_bytes
    if file_bytes != len(data) or keyed > 1 or place > len(data) or place % ALIGNMENT:
        raise FileError(f"the saved program is damaged: it has {len(data)} bytes, its header says {file_bytes}")
    if keyed != (key is not None):
        raise FileError(f"the saved program was written with{'' if keyed else 'out'} a key, and is read "
                        f"with{'out' if keyed else ''} one")
    if seal(key, data[:HEADER.size], data[START:place]) != data[HEADER.size:START]:
        raise FileError("the saved program is damaged" + (", or was written with another key" if keyed else
                        ": its text has another digest than when it was written"))
    content, arrays = _content(data[START:place], text_bytes), []
    for row in content.pop("arrays"):
        array, place = _array(data, place, row)
        arrays.append(array)
    if place != len(data):
        raise FileError(f"there are {len(data) - place} bytes behind the last array of the saved program")
    return content, arrays


def _content(stored, text_bytes):
    """The dictionary that the text is."""
    if text_bytes > LARGEST_TEXT:
        raise FileError(f"the text of a saved program would have {text_bytes} bytes")
    try:
        expander = zlib.decompressobj()
        text = expander.decompress(stored, text_bytes + 1)
        content = json.loads(text) if len(text) == text_bytes and expander.eof else None
    except (zlib.error, ValueError, RecursionError) as error:
        raise FileError(f"the text of the saved program cannot be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("arrays"), list):
        raise FileError("the text of the saved program is not what its header says")
    return content


def _array(data, end, row):
    """The array that follows the byte ``end``, looking at the memory of the file, and where it ends."""
    try:
        dtype, shape, sum_ = row
        sound = (dtype in DTYPES and len(shape) <= LARGEST_RANK
                 and all([type(length) is int and 0 <= length < 1 << 62 for length in shape]))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise FileError(f"the saved program describes an array by {row!r}")
    start = aligned(end)
    stop = start + math.prod(shape, start=numpy.dtype(dtype).itemsize)
    if stop > len(data):
        raise FileError(f"an array of shape {shape} would lie behind the end of the saved program")
    if digest(data[end:stop]).hex() != sum_:
        raise FileError(f"the saved program is damaged: an array of shape {shape} has another digest than when it was "
                        "written")
    if start == stop:
        return numpy.zeros(shape, dtype), stop
    return numpy.frombuffer(data[start:stop], dtype).reshape(shape), stop
