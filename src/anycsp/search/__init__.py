"""Search: `solve` takes a problem to a checked `Result`."""

from anycsp.search.driver import Callback, Progress
from anycsp.search.iterate import iterate, iterate_async
from anycsp.search.result import Result, TracePoint
from anycsp.search.solve import solve

__all__ = ["Callback", "Progress", "Result", "TracePoint", "iterate", "iterate_async", "solve"]
