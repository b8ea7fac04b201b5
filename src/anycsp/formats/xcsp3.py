"""XCSP3 (.xml, .xml.lzma): constraint satisfaction and optimisation, parsed by pycsp3 (extra `anycsp[xcsp]`).

The XML is read by defusedxml, which refuses DTDs, entities and external references, before pycsp3 sees it. What a
file's elements become is in `xcsp3_constraints`.
"""

from __future__ import annotations

import atexit
import re
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from anycsp.errors import AnyCSPError, FormatError, TooLargeError, UnsupportedError
from anycsp.formats.answers import Values
from anycsp.formats.files import Source, shown
from anycsp.memory import BYTES_PER_VALUE, available_bytes
from anycsp.model.problem import Problem

_ROOT = re.compile(rb"<instance[\s>]")


def sniff(head: bytes) -> bool:
    return _ROOT.search(head) is not None


def read(source: Source) -> Problem:
    root = _root(source)
    xparser = _parser_module(source)
    nodes = xparser.Node.all_nodes
    created = len(nodes)
    problem = Problem()
    from anycsp.formats.xcsp3_constraints import Loader

    parser = _parser_of(xparser, root)
    at: Any = parser  # whichever of parser and loader is at work knows the element
    try:
        parser.parse_variables(root.findall("./variables/"))
        parser.parse_constraints(root.findall("./constraints/"))
        parser.where = "<objectives>: "
        parser.parse_objectives(root.findall("./objectives/"))
        _check_domains(parser.vEntries)
        at = loader = Loader(problem)
        loader.variables(parser.vEntries)
        loader.constraints(parser.cEntries)
        loader.objectives(parser.oEntries)
    except UnsupportedError as error:
        raise UnsupportedError(source.path, f"{at.where}{error.reason}") from None
    except TooLargeError:
        raise
    except AnyCSPError as error:
        raise FormatError(source.path, f"{at.where}{error}") from None
    except (AssertionError, KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        # pycsp3 reports what it does not understand by whichever of these comes first, often without a word.
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


def _parser_of(xparser: Any, root: Any) -> Any:
    """pycsp3's parser of an XML tree that is already there; its own constructor would read the file unguarded."""

    class Parser(xparser.ParserXCSP3):  # type: ignore[misc, name-defined]
        def parsing_of_constraints_inner(self, element: Any, arguments: Any) -> Any:
            self.where = f"<{element.tag}{' id=' + repr(element.attrib['id']) if 'id' in element.attrib else ''}>: "
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
            scopes = xparser.XSlide.build_scopes([t.value for t in lists], offsets, collects, circular)
            return xparser.XSlide(lists, offsets, collects, template, scopes)

    parser = object.__new__(Parser)
    parser.map_for_vars, parser.map_for_arrays = {}, {}
    parser.vEntries, parser.cEntries, parser.oEntries, parser.aEntries = [], [], [], []
    parser.discarded_classes = set()
    parser.tree = ElementTree.ElementTree(root)
    parser.where = "<variables>: "
    return parser


def _check_domains(entries: list[Any]) -> None:
    """Refuse, before any array is made, domains that a search over all values could not hold."""
    values, widest = 0, None
    for entry in entries:
        for x in getattr(entry, "variables", None) or [entry]:
            if x is None or x.domain is None:
                continue
            size = sum(1 if isinstance(part, (int, str)) else len(part) for part in x.domain)
            values += size
            widest = (size, x.id) if widest is None or size > widest[0] else widest
    needed, limit = values * BYTES_PER_VALUE, available_bytes()
    if widest is not None and needed > limit:
        raise TooLargeError(
            f"domains of {values:,} values in all (variable {widest[1]}: {widest[0]:,}): about "
            f"{needed / 2**30:.1f} GiB, more than the limit of {limit / 2**30:.1f} GiB"
        )


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
