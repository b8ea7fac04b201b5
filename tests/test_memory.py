"""How much memory there is: that of the machine, within the limits of containers, batch jobs and `ulimit`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anycsp import memory
from anycsp.memory import available_bytes

MIB = 1 << 20


def files(root: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_control_groups_of_version_two_limit_what_there_is(tmp_path: Path) -> None:
    groups = "sys/fs/cgroup/"
    files(tmp_path, {"proc/self/cgroup": "0::/slice/job\n"})
    for path, most, taken in [("", "max", 9 * MIB), ("slice/", str(7 * MIB), 6 * MIB), ("slice/job/", "max", 5 * MIB)]:
        files(tmp_path, {f"{groups}{path}memory.max": f"{most}\n", f"{groups}{path}memory.current": f"{taken}\n"})
        files(tmp_path, {f"{groups}{path}memory.stat": f"anon 1\ninactive_file {2 * MIB}\n"})
    assert list(memory._left_in_groups(tmp_path)) == [3 * MIB], "the file cache is given up when memory is asked for"


def test_control_groups_of_version_one_are_seen_from_inside_a_container(tmp_path: Path) -> None:
    """The path is that of the host, what is mounted is the container's group alone."""
    files(tmp_path, {"proc/self/cgroup": "9:cpu:/docker/1f\n4:memory:/docker/1f\n0::/\n"})
    group = "sys/fs/cgroup/memory/memory."
    files(tmp_path, {f"{group}limit_in_bytes": "4096\n", f"{group}usage_in_bytes": "1024\n", f"{group}stat": ""})
    assert list(memory._left_in_groups(tmp_path)) == [3072]


def test_where_there_are_no_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert list(memory._left_in_groups(tmp_path)) == []
    assert available_bytes() > MIB


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="how much is taken is read from /proc")
def test_a_limited_address_space_is_the_limit() -> None:
    program = """
import resource
from anycsp.memory import available_bytes
most = 600 << 20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(available_bytes() < most)
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "True\n"
