"""Improvements as they are found: a search in a thread of its own, one iterator over what it finds."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from anycsp.model.problem import Problem
from anycsp.search.driver import Progress
from anycsp.search.solve import solve


def iterate(problem: Problem, **options: Any) -> Iterator[Progress]:
    """Every improvement of the best assignment, as soon as it is found: `for better in iterate(problem): better[x]`.

    Takes the options of `solve`; leaving the loop ends the search, and so do its limits."""
    found: queue.Queue[Progress | BaseException | None] = queue.Queue()
    stop = options.pop("stop", None) or threading.Event()
    searching = threading.Thread(target=_search, args=(problem, options, stop, found), daemon=True)
    searching.start()
    try:
        while (item := found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        searching.join()


async def iterate_async(problem: Problem, **options: Any) -> AsyncIterator[Progress]:
    """`iterate` for notebooks and servers: `async for better in iterate_async(problem)`."""
    improvements = iterate(problem, **options)
    try:
        while (better := await asyncio.to_thread(next, improvements, None)) is not None:
            yield better
    finally:
        await asyncio.to_thread(improvements.close)  # type: ignore[attr-defined]  # it is a generator


def _search(
    problem: Problem,
    options: dict[str, Any],
    stop: threading.Event,
    found: queue.Queue[Progress | BaseException | None],
) -> None:
    callback = options.pop("callback", None)

    def tell(progress: Progress) -> bool | None:
        if progress.improved:
            found.put(progress)
        return None if callback is None else callback(progress)

    try:
        solve(problem, callback=tell, stop=stop, **options)
        found.put(None)
    except BaseException as error:  # handed to whoever iterates
        found.put(error)
