"""Every script in benchmarks/ runs: what nobody runs rots unnoticed. A new script needs a line in `SMOKE`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from repository import ROOT

from anycsp import native

BENCHMARKS = ROOT / "benchmarks"


@dataclass(frozen=True)
class Smoke:
    """The smallest run that passes through the whole script: its arguments, and something it must have said."""

    script: str
    arguments: str
    says: str
    needs: str = ""
    """Words among "data", "java" and "minizinc": what may be missing here."""
    slow: bool = False


SMOKE = [
    Smoke("golden.py", "--write golden.json --smoke", "answers"),
    Smoke("model_quality.py", "rb --every 10 --time 0.001", "| rb | forced RB | 1 |"),
    Smoke("model_steps.py", "--models rb --kinds grid-12 queens-20 --tries 2 --steps 30", "| grid-12 | rb |"),
    Smoke("search_quality.py", "--families rb --seconds 0.2 --seeds 1 --instances 1", "| rb | 0.2 s | 1 |"),
    Smoke("search_quality.py", "--outside --seconds 0.2 --seeds 1 --instances 1", "mean difference", "data", slow=True),
    Smoke("speed.py", "--quick --workloads sat --hidden 8", "25 x MaxCut", slow=True),
    Smoke("training_step.py", "--rounds 1 --workloads smoke", "2 x MaxCut"),
    Smoke("building.py", "--smoke", "queens by expressions"),
    Smoke("startup.py", "--smoke", "import anycsp"),
    Smoke(
        "tuned.py",
        "--out tuned --only jobshop --minutes 0.01 --instances 2 --records records.jsonl",
        "on 2 instances × 3 seeds",
    ),
    Smoke(
        "learnt.py",
        "--minutes 0.01 --seconds 0.02 --instances 6 --judges 2 --only quasigroup",
        "quasigroup tuned    claimed",
    ),
    Smoke(
        "learn_prior.py",
        "--out runs --to prior.json --only knapsack worth sat --instances 1 --seconds 0.02 --confirmed 1",
        "geometric mean over 3 families",
    ),
    Smoke(
        "advice.py",
        "weekly-colouring --model coloring --instances 1 --seeds 1 --seconds 0.03 --kept 0.9",
        "| network, 32 steps |",
    ),
    Smoke("limits.py", "--smoke --out limits", "late by CPU"),
    Smoke("scale.py", "--edges 6000 --seconds 0.1", '"edges": 6000'),
    Smoke("load.py", "--smoke", "one after another", slow=True),
    Smoke("structured.py", "--smoke --out structured", "Satisfaction", "data java", slow=True),
    Smoke("neighbourhoods.py", "--smoke", "| packing | 5.0", slow=True),
    Smoke("beside.py", "--smoke", "| settled | 0 | 1 | 1 |"),
    Smoke("randcsp.py", "--smoke", "3 colours", slow=True),
    Smoke("annealing.py", "--smoke --out annealing", "| G0 | 24 | **"),
    Smoke("minizinc.py", "--smoke --out minizinc", "1 solutions, of which 1 pass", "minizinc", slow=True),
    Smoke("results_page.py", "--check", ""),
    Smoke("minizinc.py", "--check", ""),
    Smoke("xcsp3_table.py", f"{ROOT / 'examples'} --seconds 0.5", "| magic-square.xml | CSP | 9 | 9 |", "java"),
]


def run(script: str, arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / script), *arguments.split()]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_every_script_has_a_smoke_run_and_every_module_is_used_by_a_script() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in BENCHMARKS.glob("*.py")}
    run_by_others = {name for name in texts for other, text in texts.items() if other != name and f'"{name}"' in text}
    scripts = {name for name, text in texts.items() if '__name__ == "__main__"' in text} - run_by_others
    smoked = {smoke.script for smoke in SMOKE}
    assert scripts <= smoked <= texts.keys()
    for module in texts.keys() - scripts - run_by_others:
        assert any(f"from {Path(module).stem} import" in text for text in texts.values()), module


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
@pytest.mark.parametrize(
    "smoke",
    [
        pytest.param(smoke, id=f"{smoke.script} {i}", marks=[pytest.mark.slow] * smoke.slow)
        for i, smoke in enumerate(SMOKE)
    ],
)
def test_the_script_runs(smoke: Smoke, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "data" in smoke.needs:
        request.getfixturevalue("data")
    if "java" in smoke.needs and shutil.which("java") is None:
        pytest.skip("no Java")
    if "minizinc" in smoke.needs and not (shutil.which("minizinc") and shutil.which("fzn-gecode")):
        pytest.skip("no MiniZinc")
    ended = run(smoke.script, smoke.arguments, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert smoke.says in ended.stdout


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
def test_golden_answers_are_reproduced_and_a_difference_is_told(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run("golden.py", f"--write {name}.json --smoke", tmp_path).returncode == 0
    assert run("golden.py", "--compare one.json two.json", tmp_path).returncode == 0
    answers = json.loads((tmp_path / "two.json").read_text())
    changed = next(iter(answers))
    answers[changed][0] = "another"
    (tmp_path / "two.json").write_text(json.dumps(answers))
    ended = run("golden.py", "--compare one.json two.json", tmp_path)
    assert ended.returncode == 1
    assert changed in ended.stdout
