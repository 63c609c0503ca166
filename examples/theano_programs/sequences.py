"""Sequences made by rules: sentences with an opinion, sentences with slots, and tunes."""
import numpy as np

WORDS = 60                              # 1 to 10 are good, 11 to 20 bad, 21 negates the next opinion; 0 is padding


def sentences(n, seed, longest=20):
    """Sentences and whether their opinion is good: ``(words, mask, classes)``, words and mask with time first."""
    draw = np.random.RandomState(seed)
    words = np.zeros((longest, n), dtype="int64")
    mask = np.zeros((longest, n))
    classes = np.zeros(n, dtype="int64")
    for column in range(n):
        length = draw.randint(6, longest + 1)
        sentence = draw.randint(22, WORDS, size=length)
        classes[column] = draw.randint(2)
        for place in draw.choice(length - 1, size=2, replace=False) + 1:
            negated = draw.uniform() < 0.3
            good = bool(classes[column]) != negated
            sentence[place] = draw.randint(1, 11) if good else draw.randint(11, 21)
            sentence[place - 1] = 21 if negated else draw.randint(22, WORDS)
        words[:length, column], mask[:length, column] = sentence, 1
    return words, mask, classes


def slots(n, seed):
    """Sentences with a label for each word: a word after "from" (1) is 1, after "to" (2) is 2, others are 0."""
    draw = np.random.RandomState(seed)
    found = []
    for _ in range(n):
        length = draw.randint(5, 12)
        words = draw.randint(3, WORDS, size=length)
        labels = np.zeros(length, dtype="int32")
        for place in draw.choice(length - 1, size=2, replace=False):
            words[place] = draw.randint(1, 3)
        for place in range(1, length):
            if words[place - 1] in (1, 2) and words[place] > 2:
                labels[place] = words[place - 1]
        found.append((words.astype("int32"), labels))
    return found


def tunes(n, seed, steps=40, notes=24):
    """Piano rolls: two voices that walk up and down a scale."""
    draw = np.random.RandomState(seed)
    rolls = []
    for _ in range(n):
        roll = np.zeros((steps, notes))
        place, direction = draw.randint(notes), 1
        for step in range(steps):
            roll[step, [place, (place + 7) % notes]] = 1
            direction = -direction if place + direction in (-1, notes) else direction
            place += direction
        rolls.append(roll)
    return rolls
