"""Proof programs: programs of seats that settle a claim by their exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath
from roundtable.workshop.sandbox import RunResult, run_sandbox_job
from roundtable.workshop.trial.interpreter import find_trial_python_in_project

_BOUNDS = Bounds(seconds=20, memory=1 << 30, processes=64, output=4_000)

PROVED_EXIT_CODE, REFUTED_EXIT_CODE = 0, 1
"""The only two exit codes that decide a claim."""

_PYTHON_LAUNCHER = """
import runpy, sys, traceback
sys.argv, sys.path[:0] = sys.argv[1:], [".", "src"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    print("The program ended without an exit code that decides the claim.")
except Exception:
    traceback.print_exc()
sys.exit(2)
"""
_JAVASCRIPT_LAUNCHER = """
process.on("uncaughtException", error => { console.error(error); process.exit(2) })
process.on("exit", () => { if (process.exitCode === undefined) process.exitCode = 2 })
require(require("path").resolve(process.argv[1]))
"""
# Both interpreters exit with 1 after a crash, which would refute an unexamined claim, and with 0 at the end of any
# program. The few lines above distinguish these ends.


class ProofInterpreter(msgspec.Struct, frozen=True):
    """How a program of one language is started, and the name of its file."""

    argv: tuple[str, ...]
    file: str


def choose_trial_proof_interpreters(workspace: Path) -> dict[str, ProofInterpreter]:
    """Return the interpreters for proofs by language. Python is the project's own, if it has an environment."""
    python = str(find_trial_python_in_project(workspace) or sys.executable)
    return {
        "python": ProofInterpreter((python, "-c", _PYTHON_LAUNCHER), "roundtable_proof.py"),
        "javascript": ProofInterpreter(("node", "-e", _JAVASCRIPT_LAUNCHER), "roundtable_proof.cjs"),
    }


async def run_trial_proof_program(
    sandbox: Sandbox, interpreter: ProofInterpreter, program: str, tree: Path
) -> RunResult:
    """Run a program at the root of a copy of the tree."""
    argv = (*interpreter.argv, interpreter.file)
    return await run_sandbox_job(sandbox, Job(argv, str(tree), True, {interpreter.file: program}, _BOUNDS))


def read_trial_proof_exit_code(run: RunResult) -> bool | None:
    """Return whether the proof holds; None if it crashed, was stopped or did not decide."""
    return (
        {PROVED_EXIT_CODE: True, REFUTED_EXIT_CODE: False}.get(run.code)
        if run.code is not None and not run.stopped
        else None
    )


def check_trial_proof_location(trees: Sequence[Path], path: str, last: int) -> str:
    """Return in one sentence why a location is in none of the trees; empty if it exists. Follows no links."""
    lengths = [length for tree in trees if (length := _count_lines(tree, path)) is not None]
    if not lengths:
        return f"There is no file {path} here."
    return "" if last <= max(lengths) else f"{path} has only {max(lengths)} lines."


def _count_lines(tree: Path, path: str) -> int | None:
    """Return the number of lines of a file of the tree; None if it is not a plain file inside it."""
    try:
        with ConfinedFolder.open(tree) as files:
            content = files.read(path)
    except (UnsafePath, OSError, ValueError):  # a name too long, or with a zero byte in it
        return None
    return None if content is None else sum(1 for _ in BytesIO(content.data))
