"""Runs one contestant: imports it, reports how long that took, then runs one job per line of input."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any


def main(name: str) -> None:
    """Read jobs as JSON lines from standard input and print one JSON line for each."""
    began = time.perf_counter()
    contestant = import_module(name)
    imported = time.perf_counter() - began
    # Only now, so that the contestant pays for what it imports itself.
    import asyncio
    import gc
    import json

    out = sys.stdout
    sys.stdout = sys.stderr
    print(json.dumps({"import": imported}), file=out, flush=True)
    with asyncio.Runner() as runner:  # one loop for all: LangChain keeps its client beyond a session
        for line in sys.stdin:
            job = json.loads(line)
            act = getattr(contestant, job.pop("do"))
            gc.collect()
            result = runner.run(_measured(act, job))
            print(json.dumps({**result, "peak": peak_memory()}), file=out, flush=True)


async def _measured(act: Callable[..., Awaitable[Any]], job: dict[str, Any]) -> dict[str, Any]:
    """What it took; an act that prepares something first says itself when it began."""
    cpu, start = time.process_time(), time.monotonic()
    extra: dict[str, Any] = await act(**job) or {}
    return {"start": start, "end": time.monotonic(), "cpu": time.process_time() - cpu, **extra}


def peak_memory() -> int:
    """The most bytes this process ever had in memory."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (FileNotFoundError, StopIteration):
        import resource

        # Bytes on macOS. Linux never comes here: there a child would inherit its parent's peak.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(sys.argv[1])
