"""Tries probes on programs in the sandbox and brings back what was observed."""

from __future__ import annotations

import base64
import binascii
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.trial import probe_runner

_DRIVER, _REQUEST = "roundtable_inside.py", "roundtable_request.json"
_OUTPUT = 64 << 20


class ProbeRequest(msgspec.Struct, frozen=True):
    """Programs, one per candidate; the probes tried on each; and the processor seconds of a probe and a candidate.

    `memory` bounds each candidate by itself; without it, only the sandbox bounds them all.
    """

    setups: Sequence[str]
    probes: Sequence[str]
    seconds: float
    budget: float
    longest: int = 400
    memory: int = -1


class ProbeObservations(msgspec.Struct, frozen=True):
    """What each probe showed on each candidate, in the order asked, or why nothing could be observed at all."""

    rows: Sequence[Sequence[str]] = ()
    processor_seconds: float = 0.0
    why: str = ""


class _Answer(msgspec.Struct):
    words: list[str]
    rows: list[list[int]]
    processor: float


async def run_probes(
    sandbox: Sandbox,
    folder: Path,
    asked: ProbeRequest,
    bounds: Bounds = Bounds(),
    *,
    python: str = "",
    files: dict[str, str],
) -> ProbeObservations:
    """Observe all of it in one run in a folder, with these files laid over it, by this Python or our own."""
    laid = {**files, _DRIVER: read_module_source(probe_runner), _REQUEST: msgspec.json.encode(asked).decode()}
    bounds = msgspec.structs.replace(bounds, output=_OUTPUT)
    argv = (python or sys.executable, "-W", "ignore", _DRIVER, _REQUEST)
    run = await run_sandbox_job(sandbox, Job(argv, str(folder), copied=True, files=laid, bounds=bounds))
    last = run.output.rsplit(b"\n", 2)
    try:
        answer = msgspec.json.decode(zlib.decompress(base64.b64decode(last[-2], validate=True)), type=_Answer)
    except (IndexError, binascii.Error, zlib.error, msgspec.DecodeError):
        return ProbeObservations(
            why=run.stopped or "It ended without an answer.", processor_seconds=run.processor_seconds
        )
    rows = [[answer.words[index] for index in row] for row in answer.rows]
    return ProbeObservations(rows, answer.processor)


def read_module_source(module: ModuleType) -> str:
    """The text of a module of ours that is meant to run inside."""
    return Path(str(module.__file__)).read_text("utf-8")
