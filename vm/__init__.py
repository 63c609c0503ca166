"""The virtual machine. The files of this folder are the contract between programs, kernels and the interpreter.

Floor 0, which every kernel may use: ``abi``, ``call_stack``, ``pool``, ``workers``. The rooms are on floor 2.
"""
