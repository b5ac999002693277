"""Runs probes on programs in the sandbox and returns what was observed."""

from __future__ import annotations

import base64
import binascii
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from roundtable.core.candidate_reasons import CallOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.trial import probe_runner

_DRIVER_FILE, _REQUEST_FILE = "roundtable_inside.py", "roundtable_request.json"
_MAX_OUTPUT_BYTES = 64 << 20


class ProbeRequest(msgspec.Struct, frozen=True):
    """Programs, one per candidate; the probes to run on each; processor seconds for a probe and for a candidate.

    `memory` limits each candidate; without it, only the sandbox limits all of them together.
    """

    setups: Sequence[str]
    probes: Sequence[str]
    seconds: float
    budget: float
    longest: int = 400
    memory: int = -1


class ProbeObservations(msgspec.Struct, frozen=True):
    """The result of each probe for each candidate, in order, or the reason why no probe could run (`why`)."""

    rows: Sequence[Sequence[str]] = ()
    processor_seconds: float = 0.0
    why: str = ""


class _Answer(msgspec.Struct):
    words: list[str]
    rows: list[list[int]]
    processor: float


async def run_trial_probes(
    sandbox: Sandbox,
    folder: Path,
    request: ProbeRequest,
    bounds: Bounds = Bounds(),
    *,
    python: str = "",
    files: dict[str, str],
) -> ProbeObservations:
    """Run all probes in one run in a folder, with these files added, by this Python or our own."""
    all_files = {
        **files,
        _DRIVER_FILE: read_probe_module_source(probe_runner),
        _REQUEST_FILE: msgspec.json.encode(request).decode(),
    }
    bounds = msgspec.structs.replace(bounds, output=_MAX_OUTPUT_BYTES)
    argv = (python or sys.executable, "-W", "ignore", _DRIVER_FILE, _REQUEST_FILE)
    run = await run_sandbox_job(sandbox, Job(argv, str(folder), copied=True, files=all_files, bounds=bounds))
    last_lines = run.output.rsplit(b"\n", 2)
    try:
        answer = msgspec.json.decode(zlib.decompress(base64.b64decode(last_lines[-2], validate=True)), type=_Answer)
    except (IndexError, binascii.Error, zlib.error, msgspec.DecodeError):
        return ProbeObservations(
            why=run.stopped or "The probes ended without an answer.", processor_seconds=run.processor_seconds
        )
    rows = [[answer.words[index] for index in row] for row in answer.rows]
    return ProbeObservations(rows, answer.processor)


def parse_probe_call_outcome(text: str) -> CallOutcome:
    """Return the outcome of a call as the probe runner wrote it."""
    match text:
        case probe_runner.PROBE_TIMED_OUT:
            return CallOutcome("timeout")
        case probe_runner.PROBE_DIED:
            return CallOutcome("crash")
        case _ if text.startswith(probe_runner.VALUE_SIGN):
            return CallOutcome("value", text.removeprefix(probe_runner.VALUE_SIGN))
        case _ if text.startswith(probe_runner.ERROR_SIGN):
            return CallOutcome("error", text.removeprefix(probe_runner.ERROR_SIGN))
        case _:
            return CallOutcome("nothing")


def read_probe_module_source(module: ModuleType) -> str:
    """Return the source of one of our modules that runs inside the sandbox."""
    return Path(str(module.__file__)).read_text("utf-8")
