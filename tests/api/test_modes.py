"""Modes: names, tags, and that every mode computes the same."""
import copy

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import Mode, function
from phintys.compile import get_default_mode, get_mode, predefined_modes, register_mode

MODES = ["FAST_RUN", "FAST_COMPILE", "Mode", Mode(optimizer=None), Mode(optimizer="merge"), Mode("vm_nogc"),
         Mode("cvm", "o3"), Mode(allow_gc=False), Mode().excluding("fusion"), Mode().including("unsafe"),
         "DebugMode", "DEBUG_MODE", "NanGuardMode", "MonitorMode"]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_every_mode_computes_the_same(mode):
    x, m = T.dvector("x"), T.dmatrix("m")
    p = 1 / (1 + T.exp(-T.dot(m, x)))
    f = function([x, m], [p.mean(), phintys.grad((p ** 2).sum(), x), T.log(T.exp(x))], mode=mode)
    values, matrix = numpy.array([0.5, -1.0, 2.0]), numpy.arange(6.0).reshape(2, 3) / 5
    expected = 1 / (1 + numpy.exp(-matrix @ values))
    for _ in range(2):
        mean, slope, same = f(values, matrix)
        numpy.testing.assert_allclose(mean, expected.mean(), rtol=1e-12)
        numpy.testing.assert_allclose(slope, matrix.T @ (2 * expected ** 2 * (1 - expected)), rtol=1e-10)
        numpy.testing.assert_allclose(same, values, rtol=1e-12)


def test_fewer_rewrites_leave_more_nodes():
    x = T.dvector("x")
    z = T.exp(x) * 1 + 0 + T.exp(x)
    count = {mode: len(function([x], z, mode=mode).maker.fgraph.apply_nodes)
             for mode in ("FAST_RUN", Mode(optimizer=None))}
    fast, none = count.values()
    assert fast < none


def test_excluding_a_family_keeps_its_nodes_apart():
    x = T.dvector("x")
    f = function([x], T.tanh(T.exp(x)), mode=Mode().excluding("fusion"))
    assert len(f.maker.fgraph.toposort()) == 2
    assert len(function([x], T.tanh(T.exp(x))).maker.fgraph.toposort()) == 1


def test_gc_is_emitted_or_not():
    x = T.dmatrix("x")
    z = T.dot(T.dot(x, x), x)
    listings = {keep: function([x], z, mode=Mode(allow_gc=not keep)).explain("instructions") for keep in (True, False)}
    stays = "memory above 4 KiB stays with the frame"
    assert "DROP" in listings[False] and stays not in listings[False] and stays in listings[True]


def test_allow_gc_comes_from_argument_linker_and_flag():
    assert Mode("vm_nogc").allow_gc is False and Mode("vm_nogc", allow_gc=True).allow_gc is True
    assert Mode("vm").allow_gc is True
    for choice in (False, "plan"):
        with phintys.change_flags(allow_gc=choice):
            assert Mode("vm").allow_gc is choice and Mode("vm_nogc").allow_gc is False
            assert function([], phintys.shared(1) + 1).program.allow_gc is choice
    assert Mode(allow_gc="plan").including("unsafe").clone().allow_gc == "plan"
    with pytest.raises(ValueError, match="allow_gc is True, False, 'plan' or None, got 'all'"):
        Mode(allow_gc="all")


def test_flags_choose_the_default_mode():
    assert get_default_mode().provided_optimizer == "o4"
    with phintys.change_flags(mode="FAST_COMPILE"):
        assert get_mode(None) is predefined_modes["FAST_COMPILE"]
    with phintys.change_flags(optimizer="fast_compile", linker="vm_nogc"):
        mode = get_default_mode()
        assert mode.provided_optimizer == "fast_compile" and mode.allow_gc is False
    with phintys.change_flags(optimizer_excluding="fusion:inplace"):
        assert {"fusion", "inplace"} <= set(get_default_mode().query.exclude)
    with phintys.change_flags(mode=predefined_modes["FAST_RUN"]):
        assert get_default_mode() is predefined_modes["FAST_RUN"]


def test_modes_are_not_changed_by_their_derivatives():
    base = predefined_modes["FAST_RUN"]
    before = base.query
    base.excluding("fusion").including("unsafe")
    assert base.query == before and "fusion" not in base.query.exclude


def test_str():
    assert str(Mode("cvm", "fast_run")) == "Mode(linker = cvm, optimizer = fast_run)"


# (what to do, exception, words)
REFUSED = [
    (lambda: get_mode("FASTER"), ValueError, "No predefined mode exist for string: FASTER"),
    (lambda: get_mode("ProfileMode"), NotImplementedError, "ProfileMode"),
    (lambda: get_mode(3), TypeError, "3"),
    (lambda: Mode("jit"), KeyError, "jit"),
    (lambda: Mode(optimizer="o9"), KeyError, "o9"),
    (lambda: register_mode("FAST_RUN", Mode()), ValueError, "already taken"),
]


@pytest.mark.parametrize("act, exception, words", REFUSED)
def test_refused(act, exception, words):
    with pytest.raises(exception, match=words):
        act()


def test_register_mode():
    mode = Mode("vm_nogc", "fast_compile")
    register_mode("mine", mode)
    try:
        assert function([], T.constant(1.0), mode="mine").maker.mode is mode
    finally:
        del predefined_modes["mine"]


# ---- linkers ---------------------------------------------------------------------------------------------------------
def test_linkers_have_the_classes_of_their_names():
    kinds = {name: type(Mode(name).linker).__name__ for name in ("py", "c|py", "c|py_nogc", "vm", "cvm", "c")}
    assert kinds == {"py": "PerformLinker", "c|py": "OpWiseCLinker", "c|py_nogc": "OpWiseCLinker", "vm": "VM_Linker",
                     "cvm": "VM_Linker", "c": "CLinker"}
    assert Mode("vm_nogc").linker.allow_gc is False and get_mode("DebugMode").linker.fgraph is None
    assert type(get_mode("DebugMode").linker).__name__ == "StepwiseLinker"
    own = phintys.gof.VM_Linker(allow_gc=False)
    assert Mode(own).linker is own


def test_registered_linkers_and_optimizers(monkeypatch):
    compile_ = phintys.compile
    monkeypatch.setattr("phintys.modes.LINKERS", dict(compile_.predefined_linkers))
    monkeypatch.setattr("phintys.modes.OPTIMIZERS", dict(compile_.predefined_optimizers))
    compile_.register_linker("kept", phintys.gof.PerformLinker(allow_gc=False))
    compile_.register_optimizer("merging", phintys.gof.MergeOptimizer())
    mode = Mode("kept", "merging")
    x = T.dvector()
    f = function([x], T.exp(x) + T.exp(x), mode=mode)
    assert mode.allow_gc is False and len(f.maker.fgraph.toposort()) == 2 and f([0.0]).tolist() == [2.0]
    for register, name in ((compile_.register_linker, "vm"), (compile_.register_optimizer, "fast_run")):
        with pytest.raises(ValueError, match="already taken"):
            register(name, None)


def test_theanos_optimizer_of_a_mode_can_be_changed():
    x = T.dvectors("xyz")[0]
    expression = T.log(1 + T.exp(x)) + x * 1

    def ops(mode):
        return {type(getattr(node.op, "scalar_op", node.op)).__name__
                for node in function([x], expression, mode=mode).maker.fgraph.toposort()}

    plain = get_default_mode()
    changed = copy.copy(plain)
    changed._optimizer = changed._optimizer.excluding("fusion", "inplace")
    assert ops(changed) == {"Add", "ScalarSoftplus"} != ops(plain) and plain._optimizer == get_default_mode().query
    early = get_default_mode().excluding("fusion")
    early._optimizer.position_cutoff = 1.2                  # only what stands before stabilize
    assert ops(early) == {"Log", "Add", "Exp"} and early.including("canonicalize")._optimizer.position_cutoff == 1.2
    assert ops(plain) == ops(get_default_mode())            # not changed by the others
    numpy.testing.assert_allclose(function([x], expression, mode=early)([0.5, 2.0]),
                                  function([x], expression)([0.5, 2.0]))


def test_what_users_destroy_is_protected_at_any_cutoff():
    x = T.dvector("x")
    mode = get_default_mode()
    mode._optimizer.position_cutoff = 0
    assert len(function([x], T.exp(x) + T.exp(x), mode=mode).maker.fgraph.apply_nodes) == 3
    f = function([x], [T.inplace.exp_inplace(x), x], mode=mode, accept_inplace=True)
    numpy.testing.assert_array_equal(f([0.0])[1], [0.0])


def test_theanos_optimizer_keeps_what_was_registered():
    mode = get_default_mode().register((phintys.gof.MergeOptimizer(), 1.7))
    assert mode._optimizer.extra == mode.query.extra and len(mode._optimizer.extra) == 1
