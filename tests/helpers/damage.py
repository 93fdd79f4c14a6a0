"""Damage to files, drawn at random: what a bad disk, a crash or a text editor leaves."""

import json

import numpy as np

JUNK = [
    None, True, -1, 0, 7, 0.5, -2.5, 1e300, 10**30, "", "x", "9" * 5000, [], {}, [None], ["x"], {"x": 1}, [[1.0, 2.0]],
    {"array": 0}, {"array": -1}, {"list": [1]}, {"labels": ["a"]},
]  # fmt: skip
#: As text, as JSON has no such values.
ODD = ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "[" * 3000 + "]" * 3000, '{"a": 1, "a": 2}']


def damaged_bytes(data, rng):
    """Bytes flipped, cut off, left out, repeated or overwritten."""
    data, place = bytearray(data), int(rng.integers(len(data)))
    kind = rng.integers(6)
    if kind == 0:
        for place in rng.integers(len(data), size=int(rng.integers(1, 4))):
            data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        del data[place : place + int(rng.integers(1, 40))]
    elif kind == 3:
        data[place:place] = data[place : place + int(rng.integers(1, 40))]
    elif kind == 4:
        data[place] = int(rng.integers(256))
    else:
        data[place : place + 20] = rng.bytes(20)
    return bytes(data)


def places(value, path=()):
    """Every place in a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def damaged_json(text, rng):
    """One value of a JSON text replaced by one of another kind, left out, or by what JSON does not have."""
    value = json.loads(text)
    found = list(places(value))
    path = found[int(rng.integers(len(found)))]
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    kind = rng.integers(3)
    if kind == 0:
        del inner[path[-1]]
    elif kind == 1:
        inner[path[-1]] = JUNK[int(rng.integers(len(JUNK)))]
    else:
        inner[path[-1]] = "here"
        return json.dumps(value).replace('"here"', ODD[int(rng.integers(len(ODD)))], 1).encode()
    return json.dumps(value).encode()


def damaged(data, rng, text=True):
    """Either of the two; values only of JSON."""
    return damaged_json(data.decode(), rng) if text and rng.random() < 0.6 else damaged_bytes(data, rng)


def attempt(read, name):
    """Return what was read, or None where it was refused in a sentence that names the file; anything else fails."""
    try:
        return read()
    except ValueError as error:
        said = str(error)
    assert name in said, said
    assert len(said) < 1000, said
    assert "\n" not in said, said
    return None


def generator(*seed):
    return np.random.default_rng(list(seed))
