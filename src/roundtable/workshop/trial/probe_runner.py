"""Runs inside the sandbox, alone: runs probes on candidates and prints the observations in one line at its end.

    python roundtable_inside.py REQUEST

The request has `setups`, one program per candidate, the `probes` for each, the `seconds` of a probe and the `budget` of
a candidate for all of them, the longest observation, and a candidate's memory. Every candidate has its own process with
its output discarded. It sends observations over a pipe, each line marked with a random number of that process; only
this process holds the way out. So a candidate can only spoil its own observations. Seconds are processor time, so a
busy machine changes nothing.
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

VALUE_SIGN, ERROR_SIGN = "= ", "! "
"""How an observation of a value or an error begins."""
PROBE_DONE, PROBE_TIMED_OUT, PROBE_DIED = "done", "! late", "! died"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MAX_DEATHS = 3
_CLOCK_FACTOR = 20.0
"""How many times its budget a candidate may take in real time before it is ended as asleep."""

CompiledProbe = tuple[CodeType, bool] | None


class ProbeLimits(NamedTuple):
    """Processor seconds of one probe and of a candidate, characters of an observation, bytes of memory."""

    seconds: float
    budget: float
    longest: int
    memory: int


class _ProbeTimeout(BaseException):
    """A probe timed out. A BaseException, so that no error handling of a candidate catches it."""


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
    probes = [_compile_probe(text) for text in request["probes"]]
    known: dict[str, int] = {}
    rows: list[list[int]] = []
    for setup in request["setups"]:
        seen = _observe(setup, probes, limits)
        rows.append([known.setdefault(text, len(known)) for text in seen])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = {"words": list(known), "rows": rows, "processor": used.ru_utime + used.ru_stime}
    with os.fdopen(answers, "wb") as out:
        out.write(b"\n" + base64.b64encode(zlib.compress(json.dumps(answer).encode(), 6)) + b"\n")


def _compile_probe(text: str) -> CompiledProbe:
    """Compile an expression, whose value is observed, or a statement, whose end is; None if it is invalid."""
    for mode in ("eval", "exec"):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return compile(text, "<probe>", mode), mode == "eval"
    return None


def _observe(setup: str, probes: list[CompiledProbe], limits: ProbeLimits) -> list[str]:
    """Return what each probe shows; after a sudden death, start again behind the probe that caused it."""
    observations: list[str] = []
    for _ in range(_MAX_DEATHS):
        ended = False
        for observation in _run_process(setup, probes, len(observations), limits):
            if observation is None:
                ended = True
            else:
                observations.append(observation)
        if ended or len(observations) == len(probes):
            break
        observations.append(PROBE_DIED)
    return observations + [PROBE_TIMED_OUT] * (len(probes) - len(observations))


def _run_process(setup: str, probes: list[CompiledProbe], first: int, limits: ProbeLimits) -> Iterator[str | None]:
    """Run one process of a candidate from this probe on; yield its observations, and None at its end."""
    receive, send = os.pipe()
    mark = os.urandom(8).hex()
    child = os.fork()
    if not child:
        os.close(receive)
        _run_candidate(setup, probes, first, limits, send, mark)
    os.close(send)
    expected = first
    try:
        for line in _read_lines(receive, limits.budget * _CLOCK_FACTOR + 1):
            number, _, observation = line.removeprefix(mark).partition(" ")
            if line.startswith(mark) and number == "end":
                yield None
                return
            if line.startswith(mark) and number == str(expected):
                expected += 1
                yield json.loads(observation)
    finally:
        os.close(receive)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _read_lines(source: int, seconds: float) -> Iterator[str]:
    """Yield lines as they come, until there are no more or time is up."""
    deadline = time.monotonic() + seconds
    rest = b""
    while (remaining := deadline - time.monotonic()) > 0 and select.select([source], [], [], remaining)[0]:
        chunk = os.read(source, 65536)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)


def _run_candidate(
    setup: str, probes: list[CompiledProbe], first: int, limits: ProbeLimits, send: int, mark: str
) -> NoReturn:
    """Run one candidate in its process. Never returns to the parent's code."""
    for resource_kind, limit in (
        (resource.RLIMIT_CPU, math.ceil(limits.budget + limits.seconds) + 1),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(resource_kind, (limit, limit))
    signal.signal(signal.SIGPROF, _raise_timeout)
    try:
        with os.fdopen(send, "w", encoding="utf-8", buffering=1) as out:
            space: dict[str, object] = {"__name__": "candidate"}
            failed = _run_code(_compile_setup(setup), space, limits)
            for number in range(first, len(probes)):
                if time.process_time() > limits.budget:
                    break
                observation = _run_code(probes[number], space, limits) if failed == PROBE_DONE else failed
                out.write(f"{mark}{number} {json.dumps(observation)}\n")
            out.write(f"{mark}end \n")
    finally:
        os._exit(0)


def _compile_setup(setup: str) -> CompiledProbe:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return compile(setup, "<candidate>", "exec"), False
    return None


def _run_code(probe: CompiledProbe, space: dict[str, object], limits: ProbeLimits) -> str:
    """Return what running this showed: a value as text, its end, or the type of its error."""
    if probe is None:
        return f"{ERROR_SIGN}SyntaxError"
    code, valued = probe
    try:
        signal.setitimer(signal.ITIMER_PROF, limits.seconds, limits.seconds)
        try:
            value = eval(code, space)
            text = _ADDRESS.sub("", _stable_repr(value))[: limits.longest] if valued else ""
            observation = f"{VALUE_SIGN}{text}" if valued else PROBE_DONE
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _ProbeTimeout:
        return PROBE_TIMED_OUT
    except BaseException as error:
        return f"{ERROR_SIGN}{type(error).__name__}"
    return observation


def _stable_repr(value: Any) -> str:
    """Return a value as text; equal dicts and sets give the same text."""
    text = repr(value)
    if "{" not in text:
        return text
    match value:
        case dict():
            items = cast("dict[Any, Any]", value).items()
            return f"{{{', '.join(sorted(f'{_stable_repr(key)}: {_stable_repr(item)}' for key, item in items))}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_stable_repr, cast('set[Any]', value))))}}}"
        case list() if type(cast("object", value)) is list:
            return f"[{', '.join(map(_stable_repr, cast('list[Any]', value)))}]"
        case tuple() if type(cast("object", value)) is tuple:
            items = list(map(_stable_repr, cast("tuple[Any, ...]", value)))
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case _:
            return text


def _raise_timeout(number: int, frame: FrameType | None) -> None:
    raise _ProbeTimeout


if __name__ == "__main__":
    main()
