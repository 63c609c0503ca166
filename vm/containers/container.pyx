"""Containers: where shared variables keep their values between calls.

A container is a cell with an owner. LOAD makes a frame's cell refer to its buffer and pins it by a reference, so a
thread that replaces the value meanwhile cannot free it; STORE moves a buffer in and cannot fail. Both run under the
GIL.

Dropping an old value can run any Python code: callbacks of weak references and ``__del__`` of memory that was lent.
That code may read and set the same container. So an old value is dropped last: when the container has the new one, the
other updates of the same call are visible, and the claims have been given up.

* No two containers ever hold memory that overlaps: what would alias another container is copied.
* A value is overwritten in place only if nothing else refers to its memory. An array that ``get(borrow=True)``
  has handed out refers to it and so keeps the value it had; memory that a user lent is left alone until the user has
  dropped the array.
* To replace a value, a thread first claims the container, and so waits for running updates; to read, it waits
  only while a commit is writing.
"""
cimport cython
cimport numpy as cnp
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.graph.public_names import at_home
from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_NUMBER, CELL_OBJECT, Cell, Context, Span, allocate, cell_hold_array, cell_init,
    cell_is_contiguous, cell_is_whole, cell_to_array, cell_to_number, context_clear, context_init, device_memory, drop,
    overlap, owner_is_alone, span_of, span_of_cell)
from phintys.vm.containers.claims cimport (
    Claim, begin_change, changes_in_progress, claim, end_change, give_up, values_turn, wait_until_whole)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport FOREIGN, GIVEN, HOST, Buffer, buffer_references, buffer_release, buffer_retain
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyObject

from phintys.vm.containers.container_storage import storage_of, the_same_array
from phintys.vm.explaining.runtime_error import filtered

cnp.import_array()


# ---- which memory containers hold ------------------------------------------------------------------------------------
cdef void* first_holder = NULL      # a list of all containers of arrays; changed under the GIL


cdef inline Span span_of_array(cnp.ndarray array) noexcept:
    return span_of(<char*>cnp.PyArray_DATA(array), cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array),
                   cnp.PyArray_STRIDES(array), <int>cnp.PyArray_ITEMSIZE(array))


cdef bint is_held_by_another(Container asking, cnp.ndarray array) noexcept:
    cdef Span wanted = span_of_array(array)
    cdef void* holder = first_holder
    cdef Cell* cell
    while holder != NULL:
        cell = &(<Container>holder).cell
        if (cell.buffer != NULL and holder != <void*>asking and cell.buffer.place == HOST
                and overlap(wanted, span_of_cell(cell))):
            return True
        holder = (<Container>holder).next
    return False


cdef bint is_held_at_device(Container asking, Cell* wanted) noexcept:
    """Whether another container has the memory of a cell on the device."""
    cdef void* holder = first_holder
    cdef Cell* cell
    while holder != NULL:
        cell = &(<Container>holder).cell
        if (cell.buffer != NULL and holder != <void*>asking and cell.buffer.place != HOST
                and overlap(span_of_cell(wanted), span_of_cell(cell))):
            return True
        holder = (<Container>holder).next
    return False


cdef bint overwrite_at_device(Container container, value) except -1:
    """Copy into the memory of the old value, if that is still the container's alone."""
    cdef Claim* mine = &container.claim
    cdef bint alone
    begin_change(&mine, 1)                          # copying leaves the GIL
    try:
        alone = container._is_alone()
        if alone:
            container.changes += 1
            device_memory.overwrite(&container.cell, value)
    finally:
        end_change(&mine, 1)
    return alone


cdef inline void copy_inline(Cell* target, const Cell* source) noexcept nogil:
    """Copy a value inside its cell. A number alone is copied as it was written: reading 16 bytes of which 8 were just
    stored makes the processor wait."""
    target.value[0] = source.value[0]
    if source.ndim or source.itemsize > 8:
        target.value[1] = source.value[1]


# ---- containers ------------------------------------------------------------------------------------------------------
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

    Examples
    --------
    >>> container = phintys.Container(T.dvector, [1, 2], name="weights")
    >>> container.value
    array([1., 2.])
    >>> container.value = [3, 4]
    >>> container.value
    array([3., 4.])
    """

    def __cinit__(self, type, value=None, name=None, readonly=False, strict=False, allow_downcast=None):
        self.type = type
        self.name = name
        self.readonly = readonly
        self.strict = strict
        self.allow_downcast = allow_downcast
        context_init(&self.context)
        typenum, ndim, place = type.layout or (0, 0, HOST)
        self.dimensions = <npy_intp*>calloc(2 * ndim + 1, sizeof(npy_intp))
        if self.dimensions == NULL:
            raise MemoryError()
        cell_init(&self.cell, typenum, ndim, self.dimensions)
        self.claim.container = <PyObject*>self
        if type.layout is None:
            self.cell.flags = CELL_OBJECT
        else:
            enlist(self)
        if type.is_number:
            self.cell.flags = CELL_NUMBER
        if place != HOST:
            self.cell.flags = CELL_DEVICE

    def __init__(self, type, value=None, name=None, readonly=False, strict=False, allow_downcast=None):
        self.set(type.filter(value, strict=strict, allow_downcast=allow_downcast))

    def __dealloc__(self):
        strike_off(self)
        drop(&self.context, &self.cell)
        context_clear(&self.context)
        free(self.dimensions)

    def get(self, borrow=False):
        """The value: a copy, or the memory itself when ``borrow``.

        An array that was borrowed keeps its value when the container gets another one.
        """
        with cython.critical_section(values_turn):
            return self._got(borrow)

    cdef object _got(self, bint borrow):
        self._wait_until_whole()
        if self.cell.flags & CELL_OBJECT:
            if self.cell.object == NULL:
                return None
            return <object>self.cell.object if borrow else self._copied(<object>self.cell.object)
        if self.cell.flags & CELL_NUMBER:
            return cell_to_number(&self.cell)
        if self.cell.flags & CELL_DEVICE:
            return self._device_value(borrow)
        owner = self._lent_array()
        if owner is None:
            owner = cell_to_array(&self.cell)
            if borrow or self.cell.buffer == NULL:
                return owner
        return owner if borrow else owner.copy()

    cdef object _device_value(self, bint borrow):
        """The value of a container on the device: over its memory, or over that of a copy."""
        cdef Cell fresh
        cdef npy_intp dimensions[2 * MAX_RANK]
        if self.cell.data == NULL:
            return None
        if borrow:
            return cell_to_array(&self.cell)
        self._new_cell(&fresh, dimensions)
        try:
            allocate(&self.context, &fresh, self.cell.shape)
            device_memory.copy(&fresh, &self.cell)
            return cell_to_array(&fresh)
        finally:
            let_go(&fresh)

    cdef int _new_cell(self, Cell* fresh, npy_intp* dimensions) except -1:
        """An empty cell for a value of this container."""
        cell_init(fresh, self.cell.typenum, self.cell.ndim, dimensions)
        fresh.flags = self.cell.flags & CELL_DEVICE
        return 0

    cdef int _replace_at_device(self, value, bint borrow, Cell* fresh) except -1:
        """The same for memory on the device. A value of the same shape is copied into memory that only the container
        refers to. What was lent is held as it is; an array of the host is copied in any case."""
        cdef npy_intp dimensions[2 * MAX_RANK]
        cdef Cell lent
        if not borrow and self._is_alone() and value.shape == self._shape() and overwrite_at_device(self, value):
            return 0
        self._new_cell(fresh, fresh.shape)
        device_memory.hold(&self.context, fresh, value)
        if not isinstance(value, cnp.ndarray) and (not borrow or is_held_at_device(self, fresh)):
            lent = fresh[0]
            self._new_cell(fresh, dimensions)
            try:
                allocate(&self.context, fresh, lent.shape)
                device_memory.copy(fresh, &lent)
            finally:
                let_go(&lent)
            self.store(&self.context, fresh)
            return 0
        self.store(&self.context, fresh)
        return 0

    cdef tuple _shape(self):
        cdef int axis
        return tuple([self.cell.shape[axis] for axis in range(self.cell.ndim)])

    cdef int _wait_until_whole(self) except -1:
        cdef Claim* mine = &self.claim
        return wait_until_whole(&mine, 1) if changes_in_progress else 0

    def _copied(self, value):
        import copy
        return copy.deepcopy(value)

    cdef object _lent_array(self):
        """The user's own array whose memory a borrowed value is, if it still has the same layout."""
        if self.cell.buffer == NULL or self.cell.buffer.owner == NULL:
            return None
        owner = <object>self.cell.buffer.owner
        return owner if isinstance(owner, cnp.ndarray) and cell_is_whole(&self.cell, owner) else None

    def set(self, value, borrow=False):
        """Replace the value by one that ``type.filter`` has accepted; waits for running updates.

        Parameters
        ----------
        value : object
        borrow : bool
            Use the memory of ``value`` itself. Memory that is read-only, unaligned, in another byte order or held by
            another container is copied all the same. Lent memory is overwritten by updates only once its lender has
            dropped the array. Without ``borrow``, a value of the same shape is copied into the container's own memory
            if nothing else refers to it.
        """
        cdef Claim* mine = &self.claim
        cdef Cell fresh                             # the new value, and then the old one
        cdef npy_intp dimensions[2 * MAX_RANK]
        if self.cell.flags & CELL_OBJECT:
            value = value if borrow else self._copied(value)
        elif self.cell.flags & CELL_NUMBER:
            value = cnp.PyArray_FROM_O(self.type.filter(value))
        elif self.cell.flags & CELL_DEVICE:
            value = self.type.filter(value)
        elif not fits(&self.cell, value):
            raise TypeError(f"a container of type {self.type} cannot hold {type(value)} as it is: {value!r}")
        fresh.buffer, fresh.object, fresh.shape = NULL, NULL, dimensions
        with cython.critical_section(values_turn):
            claim(&mine, 1)
            try:
                self._replace(value, borrow, &fresh)
            finally:
                give_up(&mine, 1)
                let_go(&fresh)

    cdef int _replace(self, value, bint borrow, Cell* fresh) except -1:
        """Put the value in; what the container had is in ``fresh`` then, unless it was overwritten."""
        cdef bint lent
        if self.cell.flags & CELL_OBJECT:
            Py_INCREF(value)
            fresh.object = <PyObject*>value
        elif self.cell.flags & CELL_DEVICE:
            return self._replace_at_device(value, borrow, fresh)
        else:
            lent = borrow and cnp.PyArray_ISBEHAVED(value) and not is_held_by_another(self, value)
            if not lent and self._overwrite(value):
                return 0
            cell_init(fresh, self.cell.typenum, self.cell.ndim, fresh.shape)
            if not lent:
                self._copy_in(value, fresh)
            else:
                cell_hold_array(&self.context, fresh, value)
                if fresh.buffer.size_class == GIVEN:
                    fresh.buffer.size_class = FOREIGN       # it was given to one call only
        self.store(&self.context, fresh)
        return 0

    cdef bint _is_alone(self) noexcept:
        """Whether nothing else refers to the memory, which is in C order."""
        return (self.cell.buffer != NULL and buffer_references(self.cell.buffer) == 1
                and (self.cell.buffer.owner == NULL or owner_is_alone(self.cell.buffer))
                and cell_is_contiguous(&self.cell))

    cdef bint _overwrite(self, value) except -1:
        """Copy into the memory of the old value, if that has the same shape and is the container's alone."""
        cdef Claim* mine = &self.claim
        cdef cnp.ndarray target
        cdef bint alone
        cdef int axis
        for axis in range(self.cell.ndim):
            if cnp.PyArray_DIM(value, axis) != self.cell.shape[axis]:
                return False
        if not self._is_alone() or overlap(span_of_cell(&self.cell), span_of_array(value)):
            return False
        begin_change(&mine, 1)                      # copying leaves the GIL
        try:
            alone = self._is_alone()
            if alone:
                target = over_memory(&self.cell)
                self.changes += 1
                cnp.PyArray_CopyInto(target, value)
        finally:
            end_change(&mine, 1)
        return alone

    cdef int _copy_in(self, value, Cell* fresh) except -1:
        """Copy into fresh memory first, so that a failure leaves the old value."""
        allocate(&self.context, fresh, cnp.PyArray_DIMS(value))
        cnp.PyArray_CopyInto(over_memory(fresh), value)
        return 0

    cdef bint load(self, Context* context, Cell* target) noexcept nogil:
        cdef Cell* cell = &self.cell
        cdef Buffer* old = target.buffer
        cdef int axis
        cdef bint differs = False
        if cell.flags & CELL_OBJECT:
            copy_object(target, cell)
            return False
        for axis in range(2 * cell.ndim):
            differs |= target.shape[axis] != cell.shape[axis]
            target.shape[axis] = cell.shape[axis]
        target.buffer = NULL
        if cell.buffer == NULL:
            copy_inline(target, cell)
            target.data = <char*>target.value
        elif cell.ndim == 0 and not cell.flags & CELL_DEVICE:   # a lent number: cells of numbers are never dropped
            memcpy(target.value, cell.data, cell.itemsize)
            target.data = <char*>target.value
        else:
            buffer_retain(cell.buffer)
            target.data = cell.data
            target.buffer = cell.buffer
        if old != NULL:
            buffer_release(old)
        return differs

    cdef void store(self, Context* context, Cell* source) noexcept nogil:
        """The buffers change places: who calls drops the source, and with it the old value, when all is done."""
        cdef Cell* cell = &self.cell
        cdef Buffer* old = cell.buffer
        cdef int axis
        self.changes += 1
        if cell.flags & CELL_OBJECT:
            cell.object, source.object = source.object, cell.object
            source.data = NULL
            return
        for axis in range(2 * cell.ndim):
            cell.shape[axis] = source.shape[axis]
        if source.buffer == NULL:
            if source.data == <char*>source.value:
                copy_inline(cell, source)
            else:
                memcpy(cell.value, source.data, cell.itemsize)
            cell.data = <char*>cell.value
        else:
            cell.data = source.data
        cell.buffer, source.buffer = source.buffer, old
        source.data = NULL

    @property
    def value(self):
        """The value itself, as in Theano: the same array each time, and writing to its elements writes to the
        container. Setting it converts as ``type.filter`` does. An array keeps the value it had when the container gets
        another."""
        with cython.critical_section(values_turn):
            self._wait_until_whole()
            if self.cell.flags & CELL_DEVICE:
                return self._got(True)
            if self.cell.buffer == NULL and not self.cell.flags & CELL_OBJECT:
                move_out(self)
            return the_same_array(self, self._got(True))

    @value.setter
    def value(self, value):
        if self.readonly:
            raise Exception(f"Cannot set readonly storage: {self.name}")
        self.set(filtered(self.type, value, self.strict, self.allow_downcast,
                          lambda: f"the container {self.name or self.type}"))

    @property
    def data(self):
        """The same as ``value``; setting it takes the memory of an array of the type."""
        return self.value

    @data.setter
    def data(self, value):
        self.set(self.type.filter(value), borrow=True)

    @property
    def storage(self):
        """A one-element list with the value, as Theano's containers have."""
        return storage_of(self)

    def __repr__(self):
        return f"<{self.get(borrow=True)!r}>"

    def __reduce__(self):
        value = self.get(borrow=True)
        if self.cell.flags & CELL_DEVICE:
            value = self.type.host_value(value)
        return restored, (self.type, value, self.name, self.readonly, self.strict, self.allow_downcast)


@at_home
def restored(type, value, name, readonly, strict, allow_downcast):
    """A container from its pickle, or a copy of one; objects in it keep their identity inside one pickle."""
    container = Container.__new__(Container, type, None, name, readonly, strict, allow_downcast)
    container.set(value, borrow=True)
    return container


cdef int move_out(Container container) except -1:
    """Keep a number in an array of NumPy's, so that others can look at it there."""
    return cell_hold_array(&container.context, &container.cell, cell_to_array(&container.cell))


cdef void enlist(Container container) noexcept:
    """Add it to the list of all containers of arrays."""
    global first_holder
    with cython.critical_section(values_turn):
        container.next = first_holder
        if first_holder != NULL:
            (<Container>first_holder).previous = <void*>container
        first_holder = <void*>container


cdef void strike_off(Container container) noexcept:
    global first_holder
    with cython.critical_section(values_turn):
        if container.previous != NULL:
            (<Container>container.previous).next = container.next
        elif first_holder == <void*>container:
            first_holder = container.next
        if container.next != NULL:
            (<Container>container.next).previous = container.previous


cdef bint fits(Cell* cell, value) noexcept:
    """Whether the value is an array of the cell's dtype and rank."""
    return (type(value) is cnp.ndarray and cnp.PyArray_NDIM(value) == cell.ndim
            and cnp.PyArray_TYPE(value) == cell.typenum)


cdef cnp.ndarray over_memory(Cell* cell):
    """An array over the memory of a cell in C order, which the caller keeps alive."""
    return cnp.PyArray_SimpleNewFromData(cell.ndim, cell.shape, cell.typenum, cell.data)


cdef void let_go(Cell* cell) noexcept:
    """Drop what a container had; the memory goes to the pool."""
    if cell.buffer != NULL:
        buffer_release(cell.buffer)
    Py_XDECREF(cell.object)


cdef void copy_object(Cell* target, Cell* source) noexcept with gil:
    cdef PyObject* old = target.object
    if source.object != NULL:
        Py_INCREF(<object>source.object)
    target.object = source.object
    target.data = <char*>target.value
    Py_XDECREF(old)


cdef class Claimed:
    """``with Claimed(containers):`` no call of another thread updates them meanwhile, and none that does is running.

    Parameters
    ----------
    containers : iterable of Container
        Claimed in the order that calls of functions follow.
    """
    cdef list containers
    cdef Claim** claims
    cdef int count

    def __init__(self, containers):
        cdef Container container
        cdef dict by_address = {}
        for container in containers:
            by_address[<size_t>&container.claim] = container
        self.containers = [by_address[address] for address in sorted(by_address)]
        self.count = 0
        free(self.claims)
        self.claims = <Claim**>malloc((len(self.containers) + 1) * sizeof(Claim*))
        if self.claims == NULL:
            raise MemoryError()
        for container in self.containers:
            self.claims[self.count] = &container.claim
            self.count += 1

    def __dealloc__(self):
        free(self.claims)

    def __enter__(self):
        with cython.critical_section(values_turn):
            claim(self.claims, self.count)
        return self

    def __exit__(self, *exception):
        with cython.critical_section(values_turn):
            give_up(self.claims, self.count)
