"""Theano's name ``tensor.io`` for arrays in files and in messages: names only, see ``phintys.ops.creation``."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.ops.creation.load_from_disk import LoadFromDisk, load
from phintys.ops.creation.messages import (
    MPIRecv,
    MPIRecvWait,
    MPISend,
    MPISendWait,
    irecv,
    isend,
    mpi_cmps,
    mpi_enabled,
    mpi_keys,
    mpi_send_wait_cmp,
    mpi_send_wait_key,
    mpi_tag_cmp,
    mpi_tag_key,
    recv,
    send,
)

__all__ = ["LoadFromDisk", "MPIRecv", "MPIRecvWait", "MPISend", "MPISendWait", "irecv", "isend", "load", "mpi_cmps",
           "mpi_enabled", "mpi_keys", "mpi_send_wait_cmp", "mpi_send_wait_key", "mpi_tag_cmp", "mpi_tag_key", "recv",
           "send"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
