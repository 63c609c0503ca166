"""Devices are found and opened, and left: what happens without one, at the end of a process, in a forked one."""
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T

HERE = Path(__file__).parent
WITH_DEVICE = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from conftest import find_device
find_device()
"""


def run(script, with_device=True, check=True, **environment):
    """What a process prints that runs the script, with the device of these tests or without any."""
    text = (WITH_DEVICE if with_device else "") + textwrap.dedent(script)
    environment |= {} if with_device else {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if check else done


def has_pycuda():
    return run("""
        import importlib.util
        print(importlib.util.find_spec("pycuda") is not None)
    """, with_device=False) == "True\n"


@pytest.mark.skipif(has_pycuda(), reason="pycuda is installed here")
def test_without_pycuda_functions_of_the_processor_work():
    printed = run("""
        import phintys, phintys.tensor as T
        import numpy
        for attempt in (lambda: setattr(phintys.config, "device", "cuda"), phintys.gpu.use,
                        lambda: phintys.gpu.device_count()):
            try:
                attempt()
            except phintys.gpu.DeviceError as error:
                print("pip install phintys[gpu]" in str(error), phintys.config.device)
        try:
            T.fvector().transfer("cuda")
        except ValueError as error:
            print(str(error).startswith("Can't transfer to target cuda: the GPU needs pycuda and the driver of CUDA"))
        try:
            phintys.shared(numpy.zeros(3, "float32"), target="cuda")
        except phintys.gpu.DeviceError as error:
            print("pycuda" in str(error))
        x, there = T.dvector(), phintys.gpu.GpuArrayType("float32", (False,))()
        for attempt in (phintys.gpu.memory_report, lambda: phintys.function([there], there * 2)([1.0]),
                        lambda: phintys.function([x], (x * 2).astype("float32").sum() * there.sum(), givens={
                            there: phintys.gpu.gpu_from_host(x.astype("float32"))})([1.0])):
            try:
                attempt()
            except RuntimeError as error:
                print("no device is in use: " in str(error))
        phintys.gpu.wait()
        phintys.gpu.trim()
        print(phintys.function([x], x + 1)([1.0]).tolist())
    """, with_device=False)
    assert printed.splitlines() == ["True cpu"] * 3 + ["True"] * 5 + ["[2.0]"]


def test_no_device_and_wrong_numbers(device):
    if not device.is_stand_in:
        pytest.skip("there is a GPU")
    printed = run("""
        import phintys
        for name in ("cuda", "cuda0"):
            try:
                phintys.config.device = name
            except phintys.gpu.DeviceError as error:
                print(error)
    """, PHINTYS_STAND_IN_DEVICES="0")
    assert printed.count("the driver of CUDA finds no device") == 2
    printed = run("""
        import phintys
        try:
            phintys.gpu.use("cuda3")
        except phintys.gpu.DeviceError as error:
            print(error)
        print(phintys.gpu.use("cuda1").number, phintys.config.device)
        for attempt in (phintys.gpu.use, lambda name: setattr(phintys.config, "device", name)):
            try:
                attempt("cuda0")
            except phintys.gpu.DeviceError as error:
                print(error, phintys.config.device)
    """, PHINTYS_STAND_IN_DEVICES="2")
    first, second, *others = printed.splitlines()
    assert first == "there is no device cuda3: there are 2, from cuda0 on"
    assert second == "1 cuda1"
    assert len(others) == 2
    assert all([line.endswith("is in use, so cuda0 cannot be: a process uses one device cuda1") for line in others])


@pytest.mark.parametrize("name", ["tpu", "cuda-1", 3])
def test_names_that_are_no_device(name):
    import phintys
    with pytest.raises(ValueError, match="config.device cannot be"):
        phintys.config.device = name
    with pytest.raises(ValueError, match="names no device"):
        phintys.gpu.use(name)


def test_a_process_ends_with_values_at_the_device(device):
    printed = run("""
        import numpy, phintys, phintys.tensor as T
        phintys.config.device = "cuda"
        w = phintys.shared(numpy.ones(5, "float32"))
        f = phintys.function([], w * 2, updates=[(w, w + 1)])
        print(f().tolist(), w.get_value(return_internal_type=True).get().tolist())
    """)
    assert printed == "[2.0, 2.0, 2.0, 2.0, 2.0] [2.0, 2.0, 2.0, 2.0, 2.0]\n"


def test_a_thread_opens_the_device_and_ends(device):
    """pycuda aborts a process if a thread ends with a context on its stack."""
    done = run("""
        import threading
        import numpy, phintys
        from pycuda import gpuarray

        def work(found):
            phintys.gpu.use()
            w = phintys.shared(numpy.ones(3, "float32"))
            array = w.get_value(return_internal_type=True)
            found.append((array * 2).get().tolist())                # by a kernel of pycuda

        found = []
        for _ in range(2):
            threads = [threading.Thread(target=work, args=(found,)) for _ in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        work(found)
        print(len(found), found[0], found.count(found[0]))
    """, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 [2.0, 2.0, 2.0] 7\n", "")


def test_a_forked_process_ends_after_threads_had_the_device(device):
    done = run("""
        import os, threading, warnings
        import numpy, phintys
        warnings.simplefilter("ignore")
        phintys.gpu.use()
        w = phintys.shared(numpy.ones(3, "float32"))
        got, end = threading.Event(), threading.Event()

        def work():
            w.get_value()
            got.set()
            end.wait()
        thread = threading.Thread(target=work)
        thread.start()
        got.wait()
        child = os.fork()
        if not child:
            raise SystemExit
        end.set()
        thread.join()
        print(os.waitpid(child, 0)[1], w.get_value().tolist())
    """, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 [1.0, 1.0, 1.0]\n", "")


def test_the_flag_in_the_environment(device):
    script = """
        import numpy, phintys
        print(phintys.config.device, type(phintys.shared(numpy.ones(5, "float32"))).__name__)
    """
    assert run(script, PHINTYS_FLAGS="device=cuda") == "cuda GpuArraySharedVariable\n"


def test_a_forked_process_cannot_use_the_device_and_ends_without_a_crash(device):
    printed = run("""
        import os, warnings
        import numpy, phintys, phintys.tensor as T
        warnings.simplefilter("ignore")
        phintys.config.device = "cuda"
        w = phintys.shared(numpy.ones(5, "float32"))
        f = phintys.function([], w * 2)
        f()
        child = os.fork()
        if not child:
            try:
                f()
            except Exception as error:
                print("no device is in use" in str(error) or "no memory" in str(error), flush=True)
            x = T.dvector()
            print(phintys.function([x], x + 1)([1.0]).tolist(), flush=True)
            raise SystemExit
        print(os.waitpid(child, 0)[1], f().tolist())
    """)
    assert printed == "True\n[2.0]\n0 [2.0, 2.0, 2.0, 2.0, 2.0]\n"


def test_kernels_of_one_source_load_one_module(device):
    if not device.is_stand_in:
        pytest.skip("only the stand-in counts")
    found = []
    for _ in range(3):
        before = device.library.stand_in_loads()
        with at_device():
            x = phintys.shared(numpy.ones(3, "float32"))
            phintys.function([], T.arctan(T.sinh(x * numpy.float32(0.7318))).sum())()
        found.append(device.library.stand_in_loads() - before)
    assert found[0] > 0 and found[1:] == [0, 0]
