"""XCSP3 (.xml, .xml.lzma): constraint satisfaction and optimisation, parsed by pycsp3 (extra `anycsp[xcsp]`).

The XML is read by defusedxml, which refuses DTDs, entities and external references, before pycsp3 sees it. What a
file's elements become is in `xcsp3_loader` and `xcsp3_constraints`.
"""

from __future__ import annotations

import atexit
import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from anycsp.deadline import OutOfTime
from anycsp.errors import AnyCSPError, FormatError, ProblemError, TooLargeError, UnsupportedError
from anycsp.formats.answers import Values
from anycsp.formats.budget import CELLS, DEPTH, REPETITIONS, Budget
from anycsp.formats.files import Source, shown
from anycsp.model.problem import Problem

_ROOT = re.compile(rb"<instance[\s>]")
_LONG = re.compile(r"[0-9]{19,}")
"""A number that may not fit in 64 bits."""
_REPEATED = re.compile(r"(?<![^\s,(])(?:[+-]?[0-9]+|\*)x([0-9]+)")
"""Compact form: the same value several times, 0x10."""

_SINGLE = re.compile(r"\(\s*(in|notin)\s*,\s*([+-]?[0-9]+)\s*\.\.\s*\2\s*\)")
"""A condition on an interval of one value, (in,3..3)."""


def sniff(head: bytes) -> bool:
    return _ROOT.search(head) is not None


def read(source: Source) -> Problem:
    root = _root(source)
    xparser = _parser_module(source)
    nodes = xparser.Node.all_nodes
    created = len(nodes)
    problem = Problem()
    from anycsp.formats.xcsp3_loader import Loader

    parser = _parser_of(xparser, root, source)
    at: Any = parser  # whichever of parser and loader is at work knows the element
    try:
        _check_claims(root, parser, source)
        parser.parse_variables(root.findall("./variables/"))
        _count_references(parser.map_for_arrays.values(), source.budget)
        parser.parse_constraints(root.findall("./constraints/"))
        parser.where = "<objectives>: "
        parser.parse_objectives(root.findall("./objectives/"))
        parser.where = ""
        _check_domains(parser.vEntries, source.budget)
        at = loader = Loader(problem, source)
        loader.variables(parser.vEntries)
        loader.constraints(parser.cEntries)
        loader.objectives(parser.oEntries)
    except OutOfTime:
        raise source.late() from None
    except UnsupportedError as error:
        raise UnsupportedError(source.path, f"{at.where}{error.reason}") from None
    except (TooLargeError, MemoryError):
        raise
    except AnyCSPError as error:
        raise FormatError(source.path, f"{at.where}{error}") from None
    except Exception as error:
        # pycsp3 reports what it does not understand by whichever exception comes first, often without a word.
        detail = f" ({shown(str(error), 100)})" if str(error) else ""
        raise UnsupportedError(source.path, f"{at.where}not understood{detail}") from None
    finally:
        del nodes[created:]  # pycsp3 keeps every node it ever made
    return problem


def _root(source: Source) -> Any:
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring
    except ImportError:
        raise AnyCSPError("XCSP3 files need the extra: pip install 'anycsp[xcsp]'") from None
    try:
        root = fromstring(source.data, forbid_dtd=True)
    except DefusedXmlException as error:
        kind = type(error).__name__.replace("Forbidden", "")
        raise source.error(f"XML with a DTD, entities or external references is refused ({kind})") from None
    except ElementTree.ParseError as error:
        line, column = error.position
        raise source.error(f"not well-formed XML: {str(error).split(':')[0]}, column {column + 1}", line) from None
    except (ValueError, LookupError) as error:
        raise source.error(f"not readable as XML: {error}") from None
    if root.tag != "instance" or root.find("variables") is None:
        raise source.error("not an XCSP3 file: no <instance> with <variables>")
    return root


def _parser_module(source: Source) -> Any:
    """pycsp3's parser. Importing pycsp3 makes it read the command line and compile a model at exit; not here."""
    fresh = "pycsp3" not in sys.modules
    arguments, sys.argv = sys.argv, ["anycsp.py", "-nocompile"]
    try:
        import pycsp3
        from pycsp3.parser import xparser
    except ImportError:
        raise AnyCSPError("XCSP3 files need the extra: pip install 'anycsp[xcsp]'") from None
    finally:
        sys.argv = arguments
    if fresh:
        atexit.unregister(pycsp3.end)
    return xparser


def _parser_of(xparser: Any, root: Any, source: Source) -> Any:
    """pycsp3's parser of an XML tree that is already there; its own constructor would read the file unguarded."""

    class Parser(xparser.ParserXCSP3):  # type: ignore[misc, name-defined]
        def parsing_of_constraints_inner(self, element: Any, arguments: Any) -> Any:
            source.deadline.check()
            self.where = f"<{element.tag}{' id=' + repr(element.attrib['id']) if 'id' in element.attrib else ''}>: "
            if any(_is_flat_matrix(element, child) for child in element):
                raise ProblemError("a matrix has two dimensions")  # pycsp3 would pair a line with itself
            for condition in (child for child in element if child.tag in ("condition", "conditions")):
                # pycsp3 takes 3..3 for a plain 3, which nothing is `in`.
                condition.text = _SINGLE.sub(r"(\1,{\2})", condition.text or "")
            if element.tag != "slide":
                return super().parsing_of_constraints_inner(element, arguments)
            # pycsp3 leaves the attributes of <slide> as text; here they are numbers.
            lists = [xparser.XCtrArg(xparser.TypeCtrArg.LIST, xparser.parse_sequence(self, e)) for e in element[:-1]]
            offsets = [int(e.attrib.get("offset", 1)) for e in element[:-1]]
            template = self.parsing_of_constraints_outer(element[-1], None)
            collects = [int(e.attrib.get("collect", 1)) for e in element[:-1]]
            if len(lists) == 1:
                collects = [template.abstraction.highestParameterNumber + 1]
            circular = element.attrib.get("circular") == "true"
            if min(offsets) < 1:
                raise ProblemError("an offset is at least 1")
            source.budget.spend(REPETITIONS, sum(collects) * (len(lists[0].value) // offsets[0] + 1))
            scopes = xparser.XSlide.build_scopes([t.value for t in lists], offsets, collects, circular)
            return xparser.XSlide(lists, offsets, collects, template, scopes)

        def parse_objectives(self, elements: Any) -> None:
            for element in elements:
                if [child.tag for child in element] == ["list"]:  # pycsp3 has <coeffs> after every <list>
                    element.text = element[0].text
                    element.remove(element[0])
            super().parse_objectives(elements)

    parser = object.__new__(Parser)
    parser.map_for_vars, parser.map_for_arrays = {}, {}
    parser.vEntries, parser.cEntries, parser.oEntries, parser.aEntries = [], [], [], []
    parser.discarded_classes = set()
    parser.tree = ElementTree.ElementTree(root)
    parser.where = "<variables>: "
    return parser


def _check_claims(root: Any, parser: Any, source: Source) -> None:
    """Refuse, before pycsp3 builds anything, what a short text claims: deep nesting, numbers beyond 64 bits, values
    repeated a billion times, arrays with more cells than the file has bytes."""
    level, depth, deepest = [root], 0, DEPTH.value
    while level:
        depth += 1
        for element in level:
            try:
                _check_element(element, depth, deepest, source)
            except ProblemError:
                parser.where = f"<{shown(element.tag)[1:-1]}>: "
                raise
        level = [child for element in level for child in element]
    parser.where = "<variables>: "
    for array in root.iterfind("./variables/array"):
        sizes = [int(size) for size in re.findall(r"\[([0-9]+)\]", array.attrib.get("size", ""))]
        source.budget.spend(CELLS, math.prod(sizes), free=len(source.data))


def _check_element(element: Any, depth: int, deepest: int, source: Source) -> None:
    """There are many thousands of them, as a rule: so the caller looks up the limit."""
    text = element.text or ""
    if depth > deepest:
        DEPTH.check(depth)
    for part in (text, *element.attrib.values()):
        if long := _LONG.search(part):
            raise ProblemError(f"a number of more than 18 digits: {shown(long.group())}")
    if text.count("(") > deepest:  # otherwise it is not deeper than that either
        DEPTH.check(_brackets(text))
    if "x" in text:
        source.budget.spend(REPETITIONS, sum(int(match) for match in _REPEATED.findall(text)))


def _is_flat_matrix(constraint: Any, child: Any) -> bool:
    """Whether an array's compact form stands where a matrix is asked for, and has not two dimensions."""
    boxes = child.tag == "origins" and (constraint.findtext("lengths") or "").lstrip().startswith("(")
    if not boxes and child.tag not in ("matrix", "rowOccurs", "colOccurs"):
        return False
    text = (child.text or "").strip()
    return not text.startswith(("(", "%")) and len(re.findall(r"\[(?:[0-9]+\.\.[0-9]+)?\]", text)) < 2


def _brackets(text: str) -> int:
    """How deep the brackets of an expression, or of a list of tuples, go."""
    characters = np.frombuffer(text.encode("ascii", errors="replace"), np.uint8)
    characters = characters[(characters == ord("(")) | (characters == ord(")"))]
    return int(np.cumsum(np.where(characters == ord("("), 1, -1)).max())


def _count_references(arrays: Iterable[Any], budget: Budget) -> None:
    """Let every variable that a compact form such as x[] names count: a few bytes name a whole array."""

    def counted(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def find_and_count(form: Any) -> Any:
            found = find(form)
            budget.spend(REPETITIONS, len(found) if isinstance(found, list) else 1)
            return found

        return find_and_count

    for array in arrays:
        array.vars_for, array.var_at = counted(array.vars_for), counted(array.var_at)


def _check_domains(entries: list[Any], budget: Budget) -> None:
    """Refuse domains that are too large before they are made."""
    for entry in entries:
        for x in getattr(entry, "variables", None) or [entry]:
            if x is not None and x.domain is not None:
                try:
                    budget.domain(sum(1 if isinstance(part, (int, str)) else len(part) for part in x.domain))
                except ProblemError as error:
                    raise ProblemError(f"variable {x.id}: {error}") from None


def answer(problem: Problem, positions: npt.NDArray[np.integer[Any]]) -> list[str]:
    """The solution as the competitions want it: an <instantiation> behind `v`s."""
    assignment = problem.assignment(positions)
    lines = ["<instantiation>", f"  <list> {' '.join(assignment)} </list>"]
    lines += [f"  <values> {' '.join(str(v) for v in assignment.values())} </values>", "</instantiation>"]
    return [f"v {line}" for line in lines]


def read_answer(text: str) -> Values:
    """The inverse of `answer`."""
    parts = {tag: re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("list", "values")}
    if parts["list"] is None or parts["values"] is None:
        raise ValueError("no <instantiation> with <list> and <values>")
    names, values = parts["list"].group(1).split(), parts["values"].group(1).split()
    if len(names) != len(values):
        raise ValueError(f"{len(values)} values for {len(names)} variables")
    return {n: int(v) if re.fullmatch(r"[+-]?\d+", v) else v for n, v in zip(names, values, strict=True)}
