"""Mutations of bytes, of tokens, of lines and of structure, deterministic by the random numbers given."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable
from random import Random
from typing import Any

NUMBERS = (
    b"0", b"1", b"-1", b"2", b"3", b"1000001", b"99999999999999999999", b"-9223372036854775808", b"9223372036854775807",
    b"9223372036854775808", b"1e308", b"1e-308", b"1e999", b"nan", b"inf", b"-inf", b"0.1", b"1.5", b"+1", b"--1",
    b"0x10", b"1_000", b"\xd9\xa3", b"", b"4294967296", b"2147483648", b"1e10", b"1e-20",
)  # fmt: skip
"""Numbers at the ends of types, and what looks like a number to some readers."""
TOKEN = re.compile(rb"[A-Za-z_]+|[-+]?[0-9.]+|[^\sA-Za-z0-9]|\s+")
NUMBER = re.compile(rb"[-+]?[0-9][0-9.e]*")
WORDS = (
    b"p", b"c", b"e", b"h", b"v", b"s", b"o", b"%", b"{", b"}", b"[", b"]", b'"', b",", b":", b"<", b">", b"/", b"(",
    b")", b"x[]", b"0..1000000000", b"0x1000000", b"..", b"*", b"null", b"true", b"NaN", b"Infinity", b"%0", b"\n",
    b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"&amp;", b"<!DOCTYPE z>", b"not(" * 300, b"[" * 300,
    b"{" * 300, b"cnf", b"edge", b"intension", b"x[9]", b"x[0][1]", b"salldiff", b"knapsack", b"definition",
    b"scope", b"\xc3\xa9", b"\x0c",
)  # fmt: skip
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
}


def mutated(data: bytes, rng: Random) -> bytes:
    """One to a few mutations; a single one most often, so that the rest of the file is still read."""
    for _ in range(1 + int(rng.expovariate(0.8))):
        data = rng.choice(MUTATIONS)(data, rng)
    return data


def _flip(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256) if rng.random() < 0.3 else rng.randrange(32, 127)]) + data[at + 1 :]


def _cut(data: bytes, rng: Random) -> bytes:
    """Without a piece, or without the end."""
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.3 else data[:at] + data[at + rng.randint(1, 20) :]


def _repeat(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    piece = data[at : at + rng.randint(1, 40)]
    return data[:at] + piece * rng.choice([2, 2, 2, 3, 50, 1000]) + data[at + len(piece) :]


def _number(data: bytes, rng: Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(NUMBERS) + data[match.end() :]


def _tokens(data: bytes, rng: Random) -> bytes:
    tokens = TOKEN.findall(data)
    if not tokens:
        return rng.choice(WORDS)
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    kind = rng.randrange(4)
    if kind == 0:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == 1:
        tokens[i] = rng.choice(WORDS)
    elif kind == 2:
        del tokens[i]
    else:
        tokens.insert(i, tokens[j])
    return b"".join(tokens)


def _lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        del lines[i]
    else:
        lines.insert(i, lines[j])
    return b"\n".join(lines)


def _elements(data: bytes, rng: Random) -> bytes:
    """XML with an element in the place of another, or twice, or gone."""
    found = list(re.finditer(rb"<(\w+)[^<>]*>[^<>]*</\1>", data))
    if not found:
        return _tokens(data, rng)
    match, other = rng.choice(found), rng.choice(found)
    put = rng.choice([b"", match.group() * 2, other.group(), b"<" + match.group(1) + b"/>"])
    return data[: match.start()] + put + data[match.end() :]


ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, -(2**63), 2**63, "", "x", [], {}, [[]], [None], "0..5", "5..0",
    "0..99999999999", {"slot": 0}, {"slot": 99}, ["add"], ["no", 1], float("inf"), float("nan"), ["pow", 2, 9999],
    ["div", 1, 0], "*", 1e300,
)  # fmt: skip


def _tree(data: bytes, rng: Random) -> bytes:
    """JSON with some value replaced by an odd one, moved, or gone."""
    try:
        document = json.loads(data)
        places = list(_places(document))
    except (ValueError, RecursionError):  # an earlier mutation may have nested it deep
        return _tokens(data, rng)
    if not places:
        return _tokens(data, rng)
    parent, key = rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        other, elsewhere = rng.choice(places)
        parent[key] = json.loads(json.dumps(other[elsewhere]))
    elif kind == 1:
        del parent[key]
    elif kind == 2 and isinstance(parent, dict):
        parent[rng.choice(["x", "weight", "order", "scopes", "definition", "", "hard"])] = parent[key]
    else:
        parent[key] = rng.choice(ODD)
    return json.dumps(document, indent=1).encode()


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (list or object, index or key) of a tree."""
    keys = range(len(tree)) if isinstance(tree, list) else list(tree) if isinstance(tree, dict) else ()
    return [(tree, key) for key in keys] + [place for key in keys for place in _places(tree[key])]


MUTATIONS = (_flip, _cut, _repeat, _number, _number, _tokens, _tokens, _lines, _elements, _tree, _tree)
