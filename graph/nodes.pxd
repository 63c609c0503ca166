"""Variables and nodes as C sees them; see ``nodes.pyx``.

Their objects come first in the structs, in the order of the names in ``nodes.pyx``; so these classes have no C methods.
"""


cdef class ValueSlots:
    cdef object type, owner, index, name, _position, _tag


cdef class NodeSlots:
    cdef object op, inputs, outputs, _position, _tag
    cdef readonly long long _number         # nodes that are made, not copied, have growing numbers


# What is not a variable or node of ours is asked as any object.
cdef inline object owner_of(variable):
    if isinstance(variable, ValueSlots):
        return (<ValueSlots>variable).owner
    return variable.owner


cdef inline object type_of(variable):
    if isinstance(variable, ValueSlots):
        return (<ValueSlots>variable).type
    return variable.type


cdef inline object op_of(node):
    if isinstance(node, NodeSlots):
        return (<NodeSlots>node).op
    return node.op


cdef inline object inputs_of(node):
    if isinstance(node, NodeSlots):
        return (<NodeSlots>node).inputs
    return node.inputs


cdef inline object outputs_of(node):
    if isinstance(node, NodeSlots):
        return (<NodeSlots>node).outputs
    return node.outputs
