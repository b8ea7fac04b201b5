"""Threads that do not end when they are told to: an answer does not wait for them, and no output is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from anycsp import ending

STUBBORN = """
import threading, time
from anycsp.ending import end, leave
thread = threading.Thread(target=time.sleep, args=({seconds},), daemon=True)
thread.start()
end([thread], lambda: None)
print("answer")
{last}
"""


def test_a_thread_that_listens_has_ended() -> None:
    told = threading.Event()
    thread = threading.Thread(target=told.wait, daemon=True)
    thread.start()
    ending.end([thread], told.set)
    assert not thread.is_alive()


def test_one_that_does_not_is_asked_on_in_the_background() -> None:
    asked = list[float]()
    thread = threading.Thread(target=time.sleep, args=(1.0,), daemon=True)
    thread.start()
    ending.end([thread], lambda: asked.append(time.perf_counter()))
    returned = time.perf_counter()
    assert thread.is_alive()
    thread.join()
    assert asked[-1] > returned


def test_a_program_leaves_without_it() -> None:
    began = time.perf_counter()
    program = STUBBORN.format(seconds=60, last="leave(20)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (20, "answer\n", "")
    assert time.perf_counter() - began < 50


def test_an_interpreter_waits_for_it() -> None:
    program = STUBBORN.format(seconds=1.5, last="import time; print(time.perf_counter(), flush=True)")
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0
    assert done.stderr == ""
    assert time.perf_counter() - began > 1.5
