"""Files of each version are kept: they are read, or the error says which version reads them."""
import golden_programs
import numpy
import pytest

import phintys
from phintys.vm.files.programs import BYTECODE
from phintys.vm.files.values import FileError

FILES = sorted(golden_programs.FOLDER.glob("*.phx"))


def test_there_is_a_file_of_this_bytecode():
    assert golden_programs.golden_path() in FILES, (
        "the bytecode has changed: keep a file of it by `python -I tests/support/golden_programs.py`")


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_is_read_or_names_its_version(path):
    version, _, bytecode = path.stem.partition("-")
    if not BYTECODE.startswith(bytecode):
        with pytest.raises(FileError, match=f"written by phintys {version}, whose bytecode is another.*that one does"):
            phintys.load(path)
        return
    loaded, made = phintys.load(path), golden_programs.functions()
    assert {*loaded} == {*made} == {*golden_programs.ARGUMENTS}
    for name, arguments in golden_programs.ARGUMENTS.items():
        for _ in range(3):                      # updates, and kernels that are bound
            results, wanted = loaded[name](*arguments), made[name](*arguments)
            assert type(results) is type(wanted)
            for result, value in zip(*[each if isinstance(each, list) else [each] for each in (results, wanted)],
                                     strict=True):
                numpy.testing.assert_allclose(result, value, rtol=1e-12)
