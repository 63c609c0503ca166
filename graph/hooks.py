"""Names of upper floors that lower floors call but must not import. ``phintys/__init__.py`` sets them.

Ops of one family that need one of a later family have a hook on a class instead, for example ``Join.Split``.
"""
from typing import Any

version: Any = ""                    # of phintys
function: Any = None                 # phintys.function, which evaluates variables and compiles the graphs inside ops
input: Any = None                    # phintys.In, which says how a function treats an argument
loop_kernel: Any = None              # the class of kernels that run the steps of loops
steps_at_device: Any = None          # finds the kernel that does all steps of a loop on the GPU; `phintys.gpu` sets it
loop_derivatives: Any = None         # loads and returns the module of phintys.ops.loops that has a derivative
linear_recurrence: Any = None        # makes the loops that derivatives of cumulative products are
scan_profile: Any = None             # makes what measures the steps of a loop
device_opened: Any = None            # called when a GPU is in use, or named: adds shared variables there
values_elsewhere: Any = None         # called when a value is to live elsewhere: adds shared variables there
place_at_device: Any = None          # moves work of a graph to the GPU in use; `phintys.gpu` sets it
widen_for_device: Any = None         # lets a graph with a value there compute in float32 what is float16; as above
disagreement: Any = None             # finds the first of some nodes whose operands have lengths that differ
uses_device: Any = None              # tells whether a graph has a value on the GPU; `phintys.gpu` sets it
numpy_protocol: Any = None           # loads and returns the module phintys.numpy_protocol
array_api: Any = None                # loads and returns the module phintys.array_api
formulas: Any = None                 # loads and returns the module phintys.ops.formulas
structured_systems: Any = None       # loads and returns the module phintys.ops.compositions.structured
broadcast_advice: Any = None         # words of another library for a length of 1 that must be declared
stand_ins: Any = None                # finds forms of nodes whose derivatives are more stable
theano_flags_are_set: Any = None    # called when a function is made and THEANO_FLAGS is not empty
linker_class: Any = None              # Theano's class of linkers that has a name, which Mode.linker shows
sparse: Any = None                  # loads and returns the module phintys.sparse
saved_graphs: Any = None            # loads and returns the module phintys.making.saved_graphs
view_op: Any = None                 # phintys.graph.gradients.view_op.view_op, for graphs that are read
