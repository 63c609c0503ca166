"""Containers: where shared variables keep their values between calls.

A container is a cell with an owner. LOAD makes a frame's cell look at its buffer and pins it by a reference, so whoever
replaces the value meanwhile cannot free it; STORE moves a buffer in and cannot fail. Both run under the GIL.
"""
cimport numpy as cnp
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_OBJECT, INLINE_BYTES, Cell, Context, allocate, cell_borrow_array, cell_hold_array, cell_init, cell_to_array,
    context_clear, context_init, drop)
from phintys.vm.pool cimport buffer_release, buffer_retain

cnp.import_array()


cdef class Container:
    """Storage of one value.

    Parameters
    ----------
    type : Type
        What it may hold.
    value : object, optional
        The first value, converted by ``type.filter``.
    name : str, optional
    readonly : bool
        Refuse to be set through ``value``.
    strict : bool
    allow_downcast : bool, optional
        How ``value`` converts.
    """

    def __cinit__(self, type, value=None, name=None, readonly=False, strict=False, allow_downcast=None):
        self.type = type
        self.name = name
        self.readonly = readonly
        self.strict = strict
        self.allow_downcast = allow_downcast
        context_init(&self.context)
        typenum, ndim = type.layout or (0, 0)
        self.dimensions = <npy_intp*>calloc(2 * ndim + 1, sizeof(npy_intp))
        if self.dimensions == NULL:
            raise MemoryError()
        cell_init(&self.cell, typenum, ndim, self.dimensions)
        if type.layout is None:
            self.cell.flags = CELL_OBJECT

    def __init__(self, type, value=None, name=None, readonly=False, strict=False, allow_downcast=None):
        self.set(type.filter(value, strict=strict, allow_downcast=allow_downcast))

    def __dealloc__(self):
        drop(&self.context, &self.cell)
        context_clear(&self.context)
        free(self.dimensions)

    def get(self, borrow=False):
        """The value: a copy, or the memory itself when ``borrow``."""
        if self.cell.flags & CELL_OBJECT:
            if self.cell.object == NULL:
                return None
            return <object>self.cell.object if borrow else self._copied(<object>self.cell.object)
        owner = self._lent_array()
        if owner is None:
            owner = cell_to_array(&self.cell)
            if borrow or self.cell.buffer == NULL:
                return owner
        return owner if borrow else owner.copy()

    def _copied(self, value):
        import copy
        return copy.deepcopy(value)

    cdef object _lent_array(self):
        """The user's own array behind a borrowed value, when it is still laid out the same way."""
        cdef cnp.ndarray array
        cdef int axis
        if self.cell.buffer == NULL or self.cell.buffer.owner == NULL:
            return None
        owner = <object>self.cell.buffer.owner
        if not isinstance(owner, cnp.ndarray):
            return None
        array = owner
        if (<char*>cnp.PyArray_DATA(array) != self.cell.data or cnp.PyArray_NDIM(array) != self.cell.ndim
                or cnp.PyArray_TYPE(array) != self.cell.typenum):
            return None
        for axis in range(self.cell.ndim):
            if (cnp.PyArray_DIM(array, axis) != self.cell.shape[axis]
                    or cnp.PyArray_STRIDE(array, axis) != self.cell.strides[axis]):
                return None
        return array

    def set(self, value, borrow=False):
        """Replace the value by one that ``type.filter`` has accepted; copy it unless ``borrow``."""
        cdef PyObject* old
        if self.cell.flags & CELL_OBJECT:
            value = value if borrow else self._copied(value)
            old = self.cell.object
            Py_INCREF(value)
            self.cell.object = <PyObject*>value
            Py_XDECREF(old)
        elif borrow:
            cell_hold_array(&self.context, &self.cell, value)
        else:
            self._copy_in(value)

    cdef int _copy_in(self, value) except -1:
        """Copy into fresh memory first, so that a failure leaves the old value."""
        cdef Cell fresh
        cdef npy_intp dimensions[2 * 64]
        cell_init(&fresh, self.cell.typenum, self.cell.ndim, dimensions)
        allocate(&self.context, &fresh, cnp.PyArray_DIMS(value))
        cdef cnp.ndarray target = cnp.PyArray_SimpleNewFromData(fresh.ndim, fresh.shape, fresh.typenum, fresh.data)
        try:
            cnp.PyArray_CopyInto(target, value)
        except BaseException:
            drop(&self.context, &fresh)
            raise
        self.store(&self.context, &fresh)
        return 0

    cdef void load(self, Context* context, Cell* target) noexcept nogil:
        cdef Cell* cell = &self.cell
        cdef int axis
        if cell.flags & CELL_OBJECT:
            copy_object(target, cell)
            return
        for axis in range(2 * cell.ndim):
            target.shape[axis] = cell.shape[axis]
        if cell.buffer == NULL:
            memcpy(target.value, cell.value, INLINE_BYTES)
            target.data = <char*>target.value
        else:
            buffer_retain(cell.buffer)
            target.data = cell.data
        if target.buffer != NULL:
            buffer_release(target.buffer)
        target.buffer = cell.buffer

    cdef void store(self, Context* context, Cell* source) noexcept nogil:
        cdef Cell* cell = &self.cell
        cdef int axis
        if cell.flags & CELL_OBJECT:
            move_object(cell, source)
            return
        for axis in range(2 * cell.ndim):
            cell.shape[axis] = source.shape[axis]
        if source.buffer == NULL:
            memcpy(cell.value, source.data, INLINE_BYTES if source.data == <char*>source.value else cell.itemsize)
            cell.data = <char*>cell.value
        else:
            cell.data = source.data
        if cell.buffer != NULL:
            buffer_release(cell.buffer)
        cell.buffer = source.buffer
        source.buffer = NULL
        source.data = NULL

    @property
    def value(self):
        """A copy of the value; setting converts as ``type.filter`` does."""
        return self.get()

    @value.setter
    def value(self, value):
        if self.readonly:
            raise Exception(f"Cannot set readonly storage: {self.name}")
        self.set(self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast))

    @property
    def data(self):
        """The value without a copy."""
        return self.get(borrow=True)

    @data.setter
    def data(self, value):
        self.set(self.type.filter(value), borrow=True)

    @property
    def storage(self):
        """A one-element list with the value, as Theano's containers have."""
        return [self.get(borrow=True)]

    def __repr__(self):
        return f"<{self.get(borrow=True)!r}>"

    def __reduce__(self):
        return Container, (self.type, self.get(), self.name, self.readonly, self.strict, self.allow_downcast)


cdef void copy_object(Cell* target, Cell* source) noexcept with gil:
    cdef PyObject* old = target.object
    if source.object != NULL:
        Py_INCREF(<object>source.object)
    target.object = source.object
    target.data = <char*>target.value
    Py_XDECREF(old)


cdef void move_object(Cell* cell, Cell* source) noexcept with gil:
    cdef PyObject* old = cell.object
    cell.object = source.object
    source.object = NULL
    source.data = NULL
    Py_XDECREF(old)
