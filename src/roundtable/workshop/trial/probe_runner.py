"""Runs inside the sandbox, alone: tries probes on candidates and says what came of each, in one line at its end.

    python inside.py REQUEST

The request holds `setups`, one program per candidate, the `probes` tried on each, the `seconds` a probe may take and
the `budget` of a candidate for all of them, how long an observation may be, and a candidate's memory.
Every candidate has a process of its own, whose words lead nowhere. What it observes goes to this one over a pipe, each
line under a number drawn for that process; only this one holds the way out. A candidate can thus spoil nothing but its
own observations. Seconds are those of the processor: a busy machine changes nothing.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import resource
import select
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any, NamedTuple, NoReturn, cast

PROBE_DONE, PROBE_TIMED_OUT, PROBE_DIED = "done", "! late", "! died"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MOST_DEATHS = 3
_PATIENCE = 20.0
"""How many times its budget a candidate may take by the clock before it is ended as asleep."""

CompiledProbe = tuple[CodeType, bool] | None


class ProbeLimits(NamedTuple):
    """Processor seconds of one probe and of a whole candidate, characters of an observation, bytes of memory."""

    seconds: float
    budget: float
    longest: int
    memory: int


class _Late(BaseException):
    """A probe took too long; nothing that handles errors handles this one."""


def main() -> None:
    """Read the request, observe everything, answer once."""
    if os.environ.get("PYTHONHASHSEED") != "0":  # or the same set would read differently each time
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    answers, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for words in (0, 1, 2):
        os.dup2(nowhere, words)
    limits = ProbeLimits(request["seconds"], request["budget"], request["longest"], request["memory"])
    probes = [_compiled(text) for text in request["probes"]]
    known: dict[str, int] = {}
    rows: list[list[int]] = []
    for setup in request["setups"]:
        seen = _observed(setup, probes, limits)
        rows.append([known.setdefault(text, len(known)) for text in seen])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = {"words": list(known), "rows": rows, "processor": used.ru_utime + used.ru_stime}
    with os.fdopen(answers, "wb") as out:
        out.write(b"\n" + base64.b64encode(zlib.compress(json.dumps(answer).encode(), 6)) + b"\n")


def _compiled(text: str) -> CompiledProbe:
    """An expression, whose value is observed, or else a statement, of which only its end is; None if it is neither."""
    for mode in ("eval", "exec"):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return compile(text, "<probe>", mode), mode == "eval"
    return None


def _observed(setup: str, probes: list[CompiledProbe], limits: ProbeLimits) -> list[str]:
    """What each probe shows on this candidate; after a sudden death it is begun again behind the probe that did it."""
    seen: list[str] = []
    for _ in range(_MOST_DEATHS):
        ended = False
        for said in _heard(setup, probes, len(seen), limits):
            if said is None:
                ended = True
            else:
                seen.append(said)
        if ended or len(seen) == len(probes):
            break
        seen.append(PROBE_DIED)
    return seen + [PROBE_TIMED_OUT] * (len(probes) - len(seen))


def _heard(setup: str, probes: list[CompiledProbe], first: int, limits: ProbeLimits) -> Iterator[str | None]:
    """One process of a candidate: its observations from this probe on, and None if it came to its end."""
    receive, send = os.pipe()
    mark = os.urandom(8).hex()
    child = os.fork()
    if not child:
        os.close(receive)
        _candidate(setup, probes, first, limits, send, mark)
    os.close(send)
    expected = first
    try:
        for line in _lines(receive, limits.budget * _PATIENCE + 1):
            number, _, said = line.removeprefix(mark).partition(" ")
            if line.startswith(mark) and number == "end":
                yield None
                return
            if line.startswith(mark) and number == str(expected):
                expected += 1
                yield json.loads(said)
    finally:
        os.close(receive)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _lines(source: int, seconds: float) -> Iterator[str]:
    """Lines as they come, until there are no more or the time is up."""
    deadline = time.monotonic() + seconds
    rest = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([source], [], [], left)[0]:
        chunk = os.read(source, 65536)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)


def _candidate(
    setup: str, probes: list[CompiledProbe], first: int, limits: ProbeLimits, send: int, mark: str
) -> NoReturn:
    """The process of one candidate: it never returns to what its maker was doing."""
    for what, most in (
        (resource.RLIMIT_CPU, math.ceil(limits.budget + limits.seconds) + 1),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGPROF, _too_late)
    try:
        with os.fdopen(send, "w", encoding="utf-8", buffering=1) as out:
            space: dict[str, object] = {"__name__": "candidate"}
            failed = _outcome(_statement(setup), space, limits)
            for number in range(first, len(probes)):
                if time.process_time() > limits.budget:
                    break
                said = _outcome(probes[number], space, limits) if failed == PROBE_DONE else failed
                out.write(f"{mark}{number} {json.dumps(said)}\n")
            out.write(f"{mark}end \n")
    finally:
        os._exit(0)


def _statement(setup: str) -> CompiledProbe:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return compile(setup, "<candidate>", "exec"), False
    return None


def _outcome(probe: CompiledProbe, space: dict[str, object], limits: ProbeLimits) -> str:
    """What running this showed: a value as it is written, its end, or the kind of error it met."""
    if probe is None:
        return "! SyntaxError"
    code, valued = probe
    try:
        signal.setitimer(signal.ITIMER_PROF, limits.seconds, limits.seconds)
        try:
            value = eval(code, space)
            said = f"= {_ADDRESS.sub('', _written(value))[: limits.longest]}" if valued else PROBE_DONE
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _Late:
        return PROBE_TIMED_OUT
    except BaseException as error:
        return f"! {type(error).__name__}"
    return said


def _written(value: Any) -> str:
    """A value as it is written; equal dicts and sets alike, however they came about."""
    text = repr(value)
    if "{" not in text:
        return text
    match value:
        case dict():
            items = cast("dict[Any, Any]", value).items()
            return f"{{{', '.join(sorted(f'{_written(key)}: {_written(item)}' for key, item in items))}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_written, cast('set[Any]', value))))}}}"
        case list() if type(cast("object", value)) is list:
            return f"[{', '.join(map(_written, cast('list[Any]', value)))}]"
        case tuple() if type(cast("object", value)) is tuple:
            items = list(map(_written, cast("tuple[Any, ...]", value)))
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case _:
            return text


def _too_late(number: int, frame: FrameType | None) -> None:
    raise _Late


if __name__ == "__main__":
    main()
