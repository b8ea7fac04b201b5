"""toulbar2 on one cost function network file; prints the object that `anycsp solve --json` would print.

python benchmarks/toulbar2_file.py FILE SECONDS SEED
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: Path, seconds: int, seed: int) -> None:
    import pytoulbar2

    text = path.read_text()
    network = pytoulbar2.CFN(seed=seed + 1, verbose=-1)
    network.Read(str(path))
    wcsp = network.CFN.wcsp
    solution = network.Solve(timeLimit=seconds)
    if solution is None:
        print(json.dumps({"status": "interrupted", "violated": 1, "hard_violated": 1, "assignment": {}}))
        return
    assignment: dict[str, str | int] = {}
    for x, index in enumerate(solution[0]):
        name = wcsp.getName(x)
        if name.startswith("#"):  # an auxiliary variable of toulbar2's own
            continue
        # toulbar2 invents names for values that the file leaves unnamed: those are known by their index.
        value = wcsp.getValueName(x, index)
        assignment[name] = value if value and f'"{value}"' in text else index
    answer = {
        "status": "optimal" if wcsp.getDDualBound() >= solution[1] else "best-effort",
        "violated": 0,
        "hard_violated": 0,
        "objective": {"kind": "cost", "value": solution[1]},
        "assignment": assignment,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
