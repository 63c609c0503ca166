"""``transfer``: to the CPU, to targets that functions are registered for, and to others."""
import pytest

import phintys.tensor as T
from phintys.ops.identity import transfer

x = T.dvector("x")


def test_targets(monkeypatch):
    monkeypatch.setattr(transfer, "_registered", [])
    transfer.register_transfer(lambda variable, target: None)
    transfer.register_transfer(lambda variable, target: -variable if target == "elsewhere" else None)
    assert T.transfer(x, "cpu") is x
    assert T.transfer([1.0, 2.0], "cpu").type == T.dvector
    assert T.transfer(x, "elsewhere").eval({x: [1.0, -2.0]}).tolist() == [-1, 2]
    with pytest.raises(ValueError, match="nowhere"):
        T.transfer(x, "nowhere")
