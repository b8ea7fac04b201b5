"""A server of `anycsp serve` as a process of its own, for tests that visit it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

PATIENCE = 120.0
"""Seconds that a test waits for what takes one: the machine may be shared."""


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a server with these options, which ends with the block."""
    command = [sys.executable, "-m", "anycsp", "serve", "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        assert process.poll() is None, "the server has ended by itself"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def visitor(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False)


def events(client: Any, job: str) -> list[dict[str, Any]]:
    """All that a job tells, to its end."""
    told = []
    with client.stream("GET", f"/api/jobs/{job}/events") as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line.removeprefix("data: ")))
    return told
