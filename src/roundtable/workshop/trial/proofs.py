"""Programs that seats wrote to settle a claim: which interpreter runs them, and what their exit code says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.project.interpreter import find_project_python
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath
from roundtable.workshop.sandbox import RunResult, run_sandbox_job

_BOUNDS = Bounds(seconds=20, memory=1 << 30, processes=64, output=4_000)

PROVED_EXIT_CODE, REFUTED_EXIT_CODE = 0, 1
"""The only two exit codes by which a proof says anything."""

_PYTHON = """
import runpy, sys, traceback
sys.argv, sys.path[:0] = sys.argv[1:], [".", "src"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    print("It ended without saying whether it is so.")
except Exception:
    traceback.print_exc()
sys.exit(2)
"""
_JAVASCRIPT = """
process.on("uncaughtException", error => { console.error(error); process.exit(2) })
process.on("exit", () => { if (process.exitCode === undefined) process.exitCode = 2 })
require(require("path").resolve(process.argv[1]))
"""
# Both interpreters end a program that broke with 1, which would refute what it never looked at; and one that simply
# comes to its end with 0. So each is started by a few lines that tell these ends apart.


class ProofInterpreter(msgspec.Struct, frozen=True):
    """How a program of one language is started, and what its file is called."""

    argv: tuple[str, ...]
    file: str


def choose_proof_interpreters(workspace: Path) -> dict[str, ProofInterpreter]:
    """The languages a proof may be written in. Python is the project's own, if it has an environment."""
    python = str(find_project_python(workspace) or sys.executable)
    return {
        "python": ProofInterpreter((python, "-c", _PYTHON), "roundtable_proof.py"),
        "javascript": ProofInterpreter(("node", "-e", _JAVASCRIPT), "roundtable_proof.cjs"),
    }


async def run_proof_program(sandbox: Sandbox, interpreter: ProofInterpreter, program: str, tree: Path) -> RunResult:
    """Run a program at the root of a copy of the tree."""
    argv = (*interpreter.argv, interpreter.file)
    return await run_sandbox_job(sandbox, Job(argv, str(tree), True, {interpreter.file: program}, _BOUNDS))


def read_proof_verdict(run: RunResult) -> bool | None:
    """What it showed; None where it said nothing, because it broke, was stopped or never decided."""
    return (
        {PROVED_EXIT_CODE: True, REFUTED_EXIT_CODE: False}.get(run.code)
        if run.code is not None and not run.stopped
        else None
    )


def explain_missing_location(trees: Sequence[Path], path: str, last: int) -> str:
    """Why a place is in none of the trees, in one sentence; nothing where it is. No link is followed."""
    lengths = [length for tree in trees if (length := _lines(tree, path)) is not None]
    if not lengths:
        return f"There is no file {path} here."
    return "" if last <= max(lengths) else f"{path} has only {max(lengths)} lines."


def _lines(tree: Path, path: str) -> int | None:
    """How many lines a file of the tree has; None where it is no plain file inside it."""
    try:
        with ConfinedFolder.of(tree) as beneath:
            found = beneath.read(path)
    except (UnsafePath, OSError, ValueError):  # a name too long, or with a zero byte in it
        return None
    return None if found is None else sum(1 for _ in BytesIO(found.data))
