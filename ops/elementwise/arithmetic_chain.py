"""Chains: arithmetic trees whose values stay in registers from instruction to instruction.

A link of a chain (arithmetic_chain.template.h) computes a tile from the result of the link before and from arrays, so
most instructions of a tree are one link each. A result that the next instruction does not read is kept in a slot, a
tile of memory in the L1 cache.
"""

# Operations whose value does not change in another order of operands and constants: (operands, constants).
OTHER_ORDERS = {
    "add": ((1, 0), ()),
    "multiply": ((1, 0), ()),
    "scale_scale_add": ((1, 0), (1, 0)),
    "multiply_shift": ((1, 0), (0,)),
    "multiply_add": ((1, 0, 2), ()),
    "square_square_add": ((1, 0), (1, 0)),
    "multiply_multiply_add": ((2, 3, 0, 1), (1, 0)),
}


def link_from_registers(instruction, value, known):
    """The link that finds ``value`` in registers: (name, position, operands, constants); None if there is none."""
    name, _, operands, constants = instruction
    if operands.count(value) != 1:
        return None
    orders = [(operands, constants)]
    if name in OTHER_ORDERS:
        order, of_constants = OTHER_ORDERS[name]
        orders.append((tuple([operands[k] for k in order]), tuple([constants[k] for k in of_constants])))
    for operands, constants in orders:
        position = str(operands.index(value))
        if (name, position) in known:
            return name, position, operands, constants
    return None


class Slots:
    """Numbers of slots for values; a slot is free again after the last link that reads it."""

    def __init__(self, code):
        self.last_reader = {operand: position for position, instruction in enumerate(code)
                            for operand in instruction[2]}
        self.of_value, self.free, self.count = {}, [], 0

    def take(self, value):
        """The number of a slot that is free."""
        if not self.free:
            self.free.append(self.count)
            self.count += 1
        self.of_value[value] = self.free.pop()
        return self.of_value[value]

    def release(self, operands, position):
        """Give back a slot after its last reader."""
        for operand in set(operands):
            if operand in self.of_value and self.last_reader[operand] == position:
                self.free.append(self.of_value.pop(operand))


def chained(code, number, known):
    """The links of a tree.

    Parameters
    ----------
    code : list of (str, int, tuple of int, tuple of float)
        Name, result, operands and constants of each instruction; results are negative.
    number : dict
        The numbers of the inputs, by the operands that are not results.
    known : container of (str, str)
        The existing links: name, and position of the operand that is in registers, ``"n"`` for none.

    Returns
    -------
    links : list of (str, str, tuple of int, tuple of float)
        Name, position, numbers of the operands and constants. Numbers are inputs, slots and, last, the result.
    slots : int
    """
    slots, inputs, links, previous = Slots(code), len(number), [], None
    for position, instruction in enumerate(code):
        name, result, operands, constants = instruction
        link = link_from_registers(instruction, previous, known)
        if previous is not None and (link is None or slots.last_reader[previous] > position):
            links.append(("keep", "0", (inputs + slots.take(previous),), ()))
        name, where, operands, constants = link or (name, "n", operands, constants)
        numbers = [number.get(operand, inputs + slots.of_value.get(operand, 0)) for operand in operands]
        links.append((name, where, tuple(numbers), constants))
        slots.release(operands, position)
        previous = result
    links.append(("store", "0", (inputs + slots.count,), ()))
    return links, slots.count


def most_read(links, inputs):
    """The input that links read most often from memory; -1 if they read each once."""
    reads = [0] * inputs
    for name, where, numbers, _ in links:
        for position, number in enumerate(numbers):
            if number < inputs and str(position) != where:
                reads[number] += 1
    most = max(reads, default=0)
    return reads.index(most) if most > 1 else -1
