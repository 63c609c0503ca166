"""The attributes of variables and nodes, in fixed places of C structs, and what makes and copies these objects.

Every pass reads ``variable.owner`` and ``node.inputs`` many times; Cython code that has the struct reads them at the
cost of a pointer. For Python they are members as of ``__slots__``, which the interpreter reads as fast as attributes of
instances; Cython's own public attributes would be ten times slower. What users set besides is in ``__dict__``.

Invariant: they cannot be deleted, so C code never meets NULL.
"""
from copy import copy


cdef extern from *:
    """
    #include <structmember.h>

    /* Adds an object's pointers, from an offset on, to a class as members with these names. */
    static int phintys_add_members(PyObject *kind, Py_ssize_t offset, const char *const *names) {
        PyTypeObject *type = (PyTypeObject *)kind;
        for (; *names; names++, offset += sizeof(PyObject *)) {
            PyMemberDef *member = (PyMemberDef *)PyMem_Calloc(1, sizeof(PyMemberDef));  /* lives as long as the class */
            PyObject *descriptor;
            int failed;
            if (!member) { PyErr_NoMemory(); return -1; }
            member->name = *names;
            member->type = T_OBJECT_EX;
            member->offset = offset;
            descriptor = PyDescr_NewMember(type, member);
            failed = !descriptor || PyDict_SetItemString(type->tp_dict, *names, descriptor);
            Py_XDECREF(descriptor);
            if (failed) return -1;
        }
        PyType_Modified(type);
        return 0;
    }

    static const char *const phintys_names_of_values[] = {"type", "owner", "index", "name", "_position", "_tag", 0};
    static const char *const phintys_names_of_nodes[] = {"op", "inputs", "outputs", "_position", "_tag", 0};
    """
    Py_ssize_t HEAD "((Py_ssize_t)sizeof(PyObject))"
    const char* const* NAMES_OF_VALUES "phintys_names_of_values"
    const char* const* NAMES_OF_NODES "phintys_names_of_nodes"
    int PyObject_GenericSetAttr(object thing, object name, void* value) except -1
    int phintys_add_members(object kind, Py_ssize_t offset, const char* const* names) except -1


cdef frozenset IN_STRUCT = frozenset("type owner index name op inputs outputs _position _tag".split())
cdef long long numbers = 0
cdef object Variable = None, Constant = None, plain_clone = None, plain_init = None
cdef object told = None                 # what wants to know of each new variable; nearly always nothing


def know_classes(variable, constant):
    """Tell which classes are those of variables and constants."""
    global Variable, Constant, plain_clone
    Variable, Constant, plain_clone = variable, constant, variable.clone


def tell_new_values(function):
    """Let a function be called with each variable that is made, but not copied; None: none."""
    global told
    told = function


def next_number():
    """Return a number between those of the nodes made before and those made later."""
    global numbers
    numbers += 1
    return numbers


cdef int delete_attribute(thing, name) except -1:
    if name in IN_STRUCT:
        raise AttributeError(f"{name!r} of {type(thing).__name__} objects cannot be deleted")
    return PyObject_GenericSetAttr(thing, name, NULL)


cdef class ValueSlots:
    """ValueSlots(type, owner=None, index=None, name=None)
--

    What a variable has in its struct; the first lines are what `inspect` reads.
    """

    def __init__(self, type, owner=None, index=None, name=None):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"The name of a variable must be a string, got {name!r}. (Types have no lengths: vectors "
                            "and matrices get theirs when a function is called.)")
        self.type, self.owner, self.index, self.name = type, owner, index, name
        if told is not None:
            told(self)

    def __delattr__(self, name):
        delete_attribute(self, name)


cdef class NodeSlots:
    """NodeSlots(op, inputs, outputs)
--

    What a node has in its struct; the first lines are what `inspect` reads.
    """

    def __init__(self, op, inputs, outputs):
        global numbers
        cdef ValueSlots value
        cdef Py_ssize_t index = 0
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"The inputs of an Apply must be a list or tuple, not {inputs!r}")
        if not isinstance(outputs, (list, tuple)):
            raise TypeError(f"The output of an Apply must be a list or tuple, not {outputs!r}")
        for variable in inputs:
            if not isinstance(variable, ValueSlots):
                raise TypeError(f"The 'inputs' argument to Apply must contain Variable instances, not {variable!r} "
                                f"({op})")
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        numbers += 1
        self._number = numbers
        for variable in outputs:
            if not isinstance(variable, ValueSlots):
                raise TypeError(f"The 'outputs' argument to Apply must contain Variable instances with no owner, not "
                                f"{variable!r} ({op})")
            if isinstance(variable, Constant):
                raise ValueError(f"Constant instances cannot have an owner: {variable} as an output of {op}")
            value = <ValueSlots>variable
            owner = value.owner
            if owner is not None and (owner is not self or value.index != index):
                raise ValueError(f"All output variables passed to Apply must belong to it: {variable} is computed by "
                                 f"{owner.op}, not {op}")
            value.owner = self
            value.index = index
            index += 1

    def __delattr__(self, name):
        delete_attribute(self, name)


phintys_add_members(ValueSlots, HEAD, NAMES_OF_VALUES)
phintys_add_members(NodeSlots, HEAD, NAMES_OF_NODES)
plain_init = ValueSlots.__init__


def slots_of(thing):
    """Return the attributes in the struct of a variable or node, as a dictionary, without those that nobody set."""
    if isinstance(thing, ValueSlots):
        names, more = ("type", "owner", "index", "name"), ("_position", "_tag")
    else:
        names, more = ("op", "inputs", "outputs"), ("_position", "_tag")
    cdef dict found = {name: getattr(thing, name) for name in names}
    for name in more:
        value = getattr(thing, name)
        if value is not None:
            found["tag" if name == "_tag" else name] = value
    return found


def copy_slots(source, target):
    """Give a variable or node all that another one has in its struct, but its number."""
    if isinstance(source, ValueSlots):
        _copy_value(source, target)
    else:
        _copy_node(source, target)


cdef _copy_value(ValueSlots source, ValueSlots target):
    target.type, target.owner, target.index = source.type, source.owner, source.index
    target.name, target._position, target._tag = source.name, source._position, source._tag


cdef _copy_node(NodeSlots source, NodeSlots target):
    target.op, target.inputs, target.outputs = source.op, source.inputs, source.outputs
    target._position, target._tag = source._position, source._tag


def twin_of(NodeSlots node, list inputs):
    """Return a copy of a node with other inputs of the same types, without any checks; its outputs are clones."""
    cdef NodeSlots twin
    cdef ValueSlots old, new
    cdef list outputs = []
    kind = type(node)
    twin = kind.__new__(kind)
    twin.op, twin.inputs, twin.outputs, twin._position = node.op, inputs, outputs, node._position
    twin._tag = None if node._tag is None else copy(node._tag)
    for output in node.outputs:
        kind = type(output)
        if kind.clone is plain_clone and kind.__init__ is plain_init:
            old = output
            new = kind.__new__(kind)
            new.type, new.name, new._position = old.type, old.name, node._position
            new._tag = None if old._tag is None else copy(old._tag)
        else:
            new = output.clone()
        new.owner, new.index = twin, len(outputs)
        outputs.append(new)
    return twin
