"""Tests whose processes talk by sockets are skipped where there is no network, not even to this machine."""
import socket

import pytest


def skip_without_loopback():
    """Skip the test, or what needs the fixture, unless this machine can be reached from itself."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError:
        pytest.skip("no network, not even to this machine")
