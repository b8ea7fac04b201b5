"""A case as the text of an XCSP3 instance, written by hand from the specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

Data = Mapping[str, Any]
POSTS = (
    "table", "short_table", "linear", "all_different", "rule", "rule", "rule", "distinct", "all_equal", "count",
    "cardinality", "knapsack", "maximum", "minimum", "element", "ordered", "lexicographic", "precedence", "channel",
    "circuit", "instantiation", "no_overlap", "cumulative", "regular", "mdd",
)  # fmt: skip
WORDS = {"<=": "le", ">=": "ge", "==": "eq", "!=": "ne", "<": "lt", ">": "gt"}
OPERATIONS = frozenset(
    ["neg", "abs", "add", "sub", "mul", "div", "mod", "sqr", "pow", "min", "max", "dist", "lt", "le", "ge", "gt", "eq",
     "ne", "in", "not", "and", "or", "xor", "iff", "imp", "if"]
)  # fmt: skip
TRUTHS = frozenset(["lt", "le", "ge", "gt", "eq", "ne", "in", "not", "and", "or", "xor", "iff", "imp"])
LOGICAL = frozenset(["not", "and", "or", "xor", "iff", "imp"])
LONELY = {"add": "{0}", "mul": "{0}", "min": "{0}", "max": "{0}", "eq": "eq({0},{0})", "iff": "eq({0},{0})"}
"""Operations of two operands or more, given one."""
LONELY |= dict.fromkeys(["and", "or", "xor"], "ne({0},0)")


def says(entry: Data) -> bool:
    """Whether the language has it in this form."""
    if entry["post"] == "rule":
        return _sayable(entry["expression"])
    if entry["post"] == "ordered":
        return entry["operator"] in ("<=", "<", ">=", ">")
    if entry["post"] == "table":
        return bool(entry["rows"])
    if entry["post"] == "short_table":  # a cell of several values is smart, and not core
        plain = all(cell == "*" or (isinstance(cell, list) and len(cell) == 1) for row in entry["rows"] for cell in row)
        return bool(entry["rows"]) and plain
    if entry["post"] in ("regular", "mdd"):
        return bool(entry["final"])
    if entry["post"] == "circuit":
        return entry["self_loops"] or entry["size"] is not None
    if entry["post"] == "cardinality":
        return all(not isinstance(o, list) for o in entry["occurs"])
    return all(not isinstance(entry.get(key), list) for key in ("bound", "size", "index"))


def says_goal(tree: Any) -> bool:
    return _sayable(tree)


def _sayable(tree: Any) -> bool:
    if not isinstance(tree, list):
        return True
    if tree[0] == "pow" and (not isinstance(tree[2], int) or tree[2] < 0):
        return False
    return tree[0] in OPERATIONS and all(map(_sayable, tree[1:]))


def text(case: Data) -> str:
    kind = "COP" if case.get("objective") else "CSP"
    names = [variable["name"] for variable in case["variables"]]
    variables = "".join(f'<var id="{v["name"]}"> {_list(v["domain"])} </var>' for v in case["variables"])
    constraints = "".join(_WRITTEN[entry["post"]](entry) for entry in case["constraints"])
    if not constraints:
        constraints = f"<intension> eq({names[0]},{names[0]}) </intension>"
    goal = ""
    if case.get("objective"):
        sense, (tree,) = case["objective"]["sense"], case["objective"]["goals"]
        goal = f"<objectives><{sense}> {_tree(tree)} </{sense}></objectives>"
    return (
        f'<instance format="XCSP3" type="{kind}"><variables>{variables}</variables>'
        f"<constraints>{constraints}</constraints>{goal}</instance>\n"
    )


def _tree(tree: Any) -> str:
    if isinstance(tree, Mapping):
        return f"x{tree['var']}"
    if not isinstance(tree, list):
        return str(tree)
    name, *operands = tree
    if name == "in":
        return f"in({_tree(operands[0])},set({','.join(map(str, operands[1:]))}))"
    written = [
        _truth(operand) if name in LOGICAL or (name == "if" and place == 0) else _tree(operand)
        for place, operand in enumerate(operands)
    ]
    if len(written) == 1 and name in LONELY:
        return LONELY[name].format(_tree(operands[0]))
    return f"{name}({','.join(written)})"


def _truth(tree: Any) -> str:
    """As an operand of logic, which takes truth values only."""
    known = isinstance(tree, list) and tree[0] in TRUTHS
    return _tree(tree) if known else f"ne({_tree(tree)},0)"


def _list(items: Sequence[Any]) -> str:
    return " ".join(map(_tree, items))


def _tag(name: str, content: str, attributes: str = "") -> str:
    return f"<{name}{attributes}> {escape(content)} </{name}>"


def _condition(entry: Data) -> str:
    return _tag("condition", f"({WORDS[entry['operator']]},{_tree(entry['bound'])})")


def _over(name: str, parts: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{parts}</{name}>"


def _scope(entry: Data) -> str:
    return _tag("list", _list(entry["scope"]))


def _except(entry: Data) -> str:
    return _tag("except", _list(entry["except"])) if entry.get("except") else ""


def _cells(row: Sequence[Any]) -> str:
    return f"({','.join(str(cell[0] if isinstance(cell, list) else cell) for cell in row)})"


def _extension(e: Data) -> str:
    rows = sorted(map(tuple, e["rows"])) if e["post"] == "table" else e["rows"]
    single = len(e["scope"]) == 1
    listed = " ".join(_cells(row)[1:-1] for row in rows) if single else "".join(map(_cells, rows))
    if single and "*" in listed:
        listed = "*"
    return _over("extension", _scope(e) + _tag("supports" if e["allowed"] else "conflicts", listed))


def _occurs(occurs: Any) -> str:
    if isinstance(occurs, Mapping) and "range" in occurs:
        low, high = occurs["range"]
        return f"{low}..{high - 1}"
    return _tree(occurs)


def _cardinality(e: Data) -> str:
    closed = f' closed="{str(e["closed"]).lower()}"'
    occurs = _tag("occurs", " ".join(map(_occurs, e["occurs"])))
    return _over("cardinality", _scope(e) + _tag("values", _list(e["values"]), closed) + occurs)


def _knapsack(e: Data) -> str:
    conditions = "".join(
        _tag("condition", f"({WORDS[sign]},{_tree(bound)})")
        for sign, bound in (e["weight_condition"], e["profit_condition"])
    )
    sizes = _tag("weights", _list(e["weights"])) + _tag("profits", _list(e["profits"]))
    return _over("knapsack", _scope(e) + sizes + conditions)


def _element(e: Data) -> str:
    return _over("element", _scope(e) + _tag("index", _tree(e["index"])) + _condition(e))


def _ordered(e: Data) -> str:
    lengths = _tag("lengths", _list(e["lengths"])) if e.get("lengths") else ""
    return _over("ordered", _scope(e) + lengths + _tag("operator", WORDS[e["operator"]]))


def _lex(e: Data) -> str:
    return _over("lex", "".join(_tag("list", _list(l)) for l in e["lists"]) + _tag("operator", WORDS[e["operator"]]))


def _precedence(e: Data) -> str:
    covered = f' covered="{str(e["covered"]).lower()}"'
    return _over("precedence", _scope(e) + _tag("values", _list(e["values"]), covered))


def _channel(e: Data) -> str:
    return _over("channel", "".join(_tag("list", _list(l)) for l in (e["first"], e["second"]) if l is not None))


def _circuit(e: Data) -> str:
    return _over("circuit", _scope(e) + ("" if e["size"] is None else _tag("size", _tree(e["size"]))))


def _boxes(rows: Sequence[Sequence[Any]]) -> str:
    if len(rows[0]) == 1:
        return _list([row[0] for row in rows])
    return "".join(f"({','.join(map(_tree, row))})" for row in rows)


def _no_overlap(e: Data) -> str:
    ignored = f' zeroIgnored="{str(e["zero_ignored"]).lower()}"'
    return _over("noOverlap", _tag("origins", _boxes(e["origins"])) + _tag("lengths", _boxes(e["lengths"])), ignored)


def _cumulative(e: Data) -> str:
    parts = "".join(_tag(key, _list(e[key])) for key in ("origins", "lengths", "heights"))
    return _over("cumulative", parts + _condition(e))


def _arcs(e: Data) -> str:
    return _tag("transitions", "".join(f"(s{a},{value},s{b})" for a, value, b in e["transitions"]))


def _regular(e: Data) -> str:
    ends = _tag("start", f"s{e['start']}") + _tag("final", " ".join(f"s{q}" for q in e["final"]))
    return _over("regular", _scope(e) + _arcs(e) + ends)


_WRITTEN: dict[str, Any] = {
    "table": _extension, "short_table": _extension,
    "linear": lambda e: _over("sum", _scope(e) + _tag("coeffs", _list(e["coefficients"])) + _condition(e)),
    "all_different": lambda e: _over("allDifferent", _scope(e) + _except(e)),
    "rule": lambda e: _tag("intension", _tree(e["expression"])),
    "distinct": lambda e: _over("nValues", _scope(e) + _except(e) + _condition(e)),
    "all_equal": lambda e: _over("allEqual", _scope(e) + _except(e)),
    "count": lambda e: _over("count", _scope(e) + _tag("values", _list(e["values"])) + _condition(e)),
    "cardinality": _cardinality, "knapsack": _knapsack,
    "maximum": lambda e: _over("maximum", _scope(e) + _condition(e)),
    "minimum": lambda e: _over("minimum", _scope(e) + _condition(e)),
    "element": _element, "ordered": _ordered, "lexicographic": _lex, "precedence": _precedence, "channel": _channel,
    "circuit": _circuit,
    "instantiation": lambda e: _over("instantiation", _scope(e) + _tag("values", _list(e["values"]))),
    "no_overlap": _no_overlap, "cumulative": _cumulative, "regular": _regular,
    "mdd": lambda e: _over("mdd", _scope(e) + _arcs(e)),
}  # fmt: skip
