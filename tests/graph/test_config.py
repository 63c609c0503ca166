"""The table of options, ``config`` and ``change_flags``."""
import copy
import operator
import pickle
import threading

import pytest

import phintys
from phintys.graph.config import OPTIONS, Config, change_flags, config, config_doc
from phintys.pickled import options_of_process


def fresh():
    return Config(OPTIONS)


@pytest.mark.parametrize("name, default", [row[:2] for row in OPTIONS], ids=[row[0] for row in OPTIONS])
def test_every_option_accepts_its_default(name, default):
    options = fresh()
    assert options.get(name) == default
    options.set(name, default)
    options.set(name, str(default))
    assert options.get(name) == default


def test_names_are_unique():
    names = [row[0] for row in OPTIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name, value, stored", [
    ("floatX", "32", "float32"), ("allow_gc", "0", False), ("allow_gc", "true", True),
    ("allow_gc", "plan", "plan"), ("kept_frames", "0", 0), ("workers", "3", 3),
    ("pool_limit", 10, 10), ("vm.lazy", "None", None), ("unittests.rseed", "random", "random"),
    ("blas.ldflags", "-lblas -lm", "-lblas -lm"), ("cast_policy", "numpy+floatX", "numpy+floatX")])
def test_values_are_converted(name, value, stored):
    options = fresh()
    options.set(name, value)
    assert options.get(name) == stored


@pytest.mark.parametrize("name, value", [
    ("floatX", "float128"), ("allow_gc", "perhaps"), ("allow_gc", 2), ("allow_gc", "Plan"),
    ("kept_frames", -1), ("workers", -1), ("workers", "many"),
    ("workers", 1.5), ("device", "tpu"), ("mode", None), ("cxx", 3), ("int_division", "float"),
    ("compute_test_value", "on"), ("unittests.rseed", "any")])
def test_impossible_values(name, value):
    options = fresh()
    before = options.get(name)
    with pytest.raises(ValueError, match=f"config.{name} cannot be"):
        options.set(name, value)
    assert options.get(name) == before


def test_sections_are_attributes():
    options = fresh()
    options.blas.ldflags = "-lblas"
    assert options.get("blas.ldflags") == options.blas.ldflags == "-lblas"


def test_pickles_and_copies_are_the_options_of_the_process():
    with change_flags({"blas.ldflags": "-lblas"}):
        pickled = pickle.dumps([config, config.blas])
    assert b"phintys.pickled" in pickled and b"-lblas" not in pickled
    options, section = pickle.loads(pickled)
    assert options is config and section is config.blas
    assert copy.deepcopy(config) is copy.copy(config) is config and copy.deepcopy([config.blas])[0] is config.blas
    with pytest.raises(AttributeError, match="no option 'nothing'"):
        options_of_process("nothing.")
    with pytest.raises(TypeError, match=r"only phintys\.config and its sections"):
        pickle.dumps(fresh())


@pytest.mark.parametrize("read", [lambda c: c.nothing, lambda c: c.blas.nothing, lambda c: c.get("nothing"),
                                  lambda c: c.set("nothing", 1), lambda c: setattr(c, "nothing", 1),
                                  lambda c: setattr(c.blas, "nothing", 1), lambda c: setattr(c, "blas", 1)])
def test_unknown_names(read):
    with pytest.raises(AttributeError):
        read(fresh())


def test_flags():
    options = fresh()
    options.read_flags(" floatX = float32, blas.ldflags=-la -lb ,,allow_gc=False")
    assert (options.floatX, options.blas.ldflags, options.allow_gc) == ("float32", "-la -lb", False)


@pytest.mark.parametrize("flags, message", [("floatX=float128", "float128"), ("nothing=1", "nothing"), ("floatX", "=")])
def test_wrong_flags(flags, message):
    with pytest.raises(ValueError, match=f"PHINTYS_FLAGS: .*{message}"):
        fresh().read_flags(flags)


def test_on_change_is_called_now_and_later():
    options, seen = fresh(), []
    options.on_change("workers", seen.append)
    options.workers = 4
    with pytest.raises(ValueError):
        options.workers = "many"
    assert seen == [0, 4]


def test_an_option_keeps_its_value_if_what_follows_it_fails():
    def refuse(value):
        if value == 3:
            raise RuntimeError("not three")

    options = fresh()
    options.on_change("workers", refuse)
    options.workers = 2
    with pytest.raises(RuntimeError, match="not three"):
        options.workers = 3
    assert options.workers == 2


def test_change_flags_restores():
    assert config.workers == 0
    with change_flags({"blas.ldflags": "-lx"}, workers=2):
        assert (config.workers, config.blas.ldflags) == (2, "-lx")
        with config.change_flags(workers=3):
            assert config.workers == 3
        assert config.workers == 2
    assert (config.workers, config.blas.ldflags) == (0, "")


def test_change_flags_decorates():
    @change_flags(workers=2)
    def read(depth):
        return [config.workers] + (read(depth - 1) if depth else [])

    assert read.__name__ == "read" and read(1) == [2, 2] and config.workers == 0


def test_change_flags_with_an_impossible_value_changes_nothing():
    with pytest.raises(ValueError):
        with change_flags(workers=2, floatX="float128"):
            raise AssertionError("entered")
    assert config.workers == 0 and config.floatX == "float64"


def test_config_doc_lists_every_option():
    with change_flags(workers=5):
        lines = config_doc().splitlines()
    assert [line.partition(" = ")[0] for line in lines] == [row[0] for row in OPTIONS]
    assert "workers = 5 (default 0): Threads" in config_doc().replace("workers = 0:", "workers = 5 (default 0):")


# ---- threads ---------------------------------------------------------------------------------------------------------
def in_another_thread(function):
    """What a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_change_flags_is_for_its_thread():
    with change_flags(floatX="float32"):
        assert config.floatX == config.get("floatX") == "float32"
        assert in_another_thread(lambda: (config.floatX, config.get("floatX"))) == ("float64", "float64")
    assert config.floatX == "float64" and "floatX" in config.__dict__      # a plain attribute again


def test_threads_have_different_options_at_once():
    start, results = threading.Barrier(3), {}

    def run(name):
        with change_flags({"floatX": name, "blas.ldflags": name}):
            start.wait()
            results[name] = config.floatX, config.blas.ldflags, str(phintys.tensor.vector().dtype)
            start.wait()

    threads = [threading.Thread(target=run, args=(name,)) for name in ("float32", "float16")]
    for thread in threads:
        thread.start()
    start.wait()
    assert config.floatX == "float64" and config.blas.ldflags == ""
    start.wait()
    for thread in threads:
        thread.join()
    assert results == {name: (name,) * 3 for name in ("float32", "float16")}
    assert not config._hidden and config.floatX == "float64"


def test_setting_inside_is_for_the_thread_and_ends_with_the_block():
    with change_flags(optimizer_verbose=False):
        config.optimizer_verbose = True
        assert config.optimizer_verbose and not in_another_thread(lambda: config.optimizer_verbose)
    assert not config.optimizer_verbose


def test_setting_in_another_thread_changes_the_default():
    with change_flags(exception_verbosity="low"):
        in_another_thread(lambda: config.set("exception_verbosity", "high"))
        assert config.exception_verbosity == "low"
    assert config.exception_verbosity == "high"
    config.exception_verbosity = "low"


def test_blocks_inside_each_other():
    flags = change_flags(floatX="float32")
    with flags, change_flags(floatX="float16"), flags:
        assert config.floatX == "float32"
    assert config.floatX == "float64"


def test_options_that_programs_follow_are_of_the_process():
    with change_flags(kept_frames=7):
        assert in_another_thread(lambda: config.kept_frames) == 7
    assert config.kept_frames != 7
    listed = change_flags.__doc__.partition("changed for all threads:")[2].partition(".\n")[0].replace("\n", " ")
    known = config._of_process | {"gpu.graphs", "gpu.tf32"}             # the last two come with phintys.gpu
    assert {name.strip() for name in listed.split(",")} == known


def test_a_block_is_left_by_the_thread_that_entered_it():
    flags = change_flags(floatX="float32")
    flags.__enter__()
    with pytest.raises(RuntimeError, match="must be left in the thread that entered it"):
        _raised_in_another_thread(flags.__exit__)
    flags.__exit__()
    assert config.floatX == "float64"


def _raised_in_another_thread(function):
    def attempt():
        try:
            function()
        except Exception as error:
            return error
    raise in_another_thread(attempt)


def test_an_error_while_entering_changes_nothing():
    with pytest.raises(ValueError, match="config.floatX cannot be"):
        change_flags(optimizer_verbose=True, floatX="float1").__enter__()
    assert not config.optimizer_verbose and not config._hidden


def test_python_floats_follow_the_threads_float_x():
    x = phintys.tensor.fscalar("x")
    f = phintys.function([x], x + x)
    with pytest.raises(TypeError):
        f(0.1)
    with change_flags(floatX="float32"):
        assert f(0.1).dtype == "float32"
        with pytest.raises(TypeError):
            _raised_in_another_thread(lambda: f(0.1))
    with pytest.raises(TypeError):
        f(0.1)


@pytest.mark.parametrize("wrong, right", [("flotX", "floatX"), ("floatx", "floatX"), ("optimiser", "optimizer"),
                                          ("rseed", "unittests.rseed"), ("blas.ldflag", "blas.ldflags"),
                                          ("alow_gc", "allow_gc")])
def test_the_nearest_name_is_suggested(wrong, right):
    for act in (lambda: config.get(wrong), lambda: config.set(wrong, 1), lambda: change_flags({wrong: 1}),
                lambda: operator.attrgetter(wrong)(config)):
        with pytest.raises(AttributeError, match=f"config has no option '{wrong}'; did you mean '{right}'"):
            act()
    assert not hasattr(config, "qwertyuiop")
