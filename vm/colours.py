"""Colours: which operations certainly run one after the other, however many workers there are.

Operations on one path through a graph wait for each other. So the longest path gets a colour, then the longest path of
what is left, and so on. Memory that only operations of one colour touch may be used again by a later one of the same
colour; nothing else may, or operations that could run side by side would have to wait.
"""


def colours_of(followers, count):
    """Colour operations along longest paths.

    Parameters
    ----------
    followers : list of list of int
        For each operation, those that wait for it; all have higher numbers.
    count : int
        How many colours there are.

    Returns
    -------
    list of int or None
        The colour of each operation; None when there are too few.
    """
    colours = [None] * len(followers)
    for colour in range(count):
        path = _longest_path(followers, colours)
        if not path:
            break
        for number in path:
            colours[number] = colour
    return colours


def _longest_path(followers, colours):
    """The operations without a colour on a path that has as many of them as any."""
    length, behind = [0] * len(followers), [None] * len(followers)
    for number in range(len(followers) - 1, -1, -1):
        for follower in followers[number]:
            if length[follower] > length[number]:
                length[number], behind[number] = length[follower], follower
        if colours[number] is None:
            length[number] += 1
    if not any(length):
        return []
    number, path = max(range(len(followers)), key=lambda number: length[number]), []
    while number is not None:
        if colours[number] is None:
            path.append(number)
        number = behind[number]
    return path


def colour_of_values(touched, colours):
    """The colour of each value.

    Parameters
    ----------
    touched : list of list of int
        For each value, the operations that read or write it.
    colours : list of int or None
        Of the operations.

    Returns
    -------
    list of int or None
        None for a value that operations of several colours touch, or one without a colour.
    """
    seen = [{colours[number] for number in operations} for operations in touched]
    return [found.pop() if len(found) == 1 else None for found in seen]
