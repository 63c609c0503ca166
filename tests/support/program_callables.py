"""Loaded programs as functions, without what ``phintys.load`` adds to them."""
from phintys.vm.callables.callable import Callable
from phintys.vm.files.operands import check_instruction
from phintys.vm.linking.verifier import verify


def callable_of(program, strict_flags=None, downcast_flags=None, **options):
    """A program that the verifier has found sound, as a function of its arguments, which convert as the flags say."""
    verify(program, check_instruction)
    count = program.n_arguments
    names = [getattr(text, "name", None) for text in program.cell_texts()[:count]]     # a forged one has no text
    return Callable(program, program.argument_types, names, strict_flags or [False] * count,
                    downcast_flags or [None] * count, **options)
