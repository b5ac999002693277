"""One run of the bench: what is measured, in which order, and how often."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.figures import union
from bench.processes import BenchError, ModelServer, Worker, timed

CONTESTANTS = {"floor": "raw httpx2", "ours": "Roundtable", "langgraph_peer": "LangGraph", "autogen_peer": "AutoGen"}
PEERS = ("langgraph_peer", "autogen_peer")
SESSIONS = {
    "floor": ("floor", "session", "raw httpx2"),
    "floor_default": ("floor", "session_default", "raw httpx2, client as it comes"),
    "ours": ("ours", "session", "Roundtable, desk opened and closed"),
    "ours_decided": ("ours", "session_decided", "Roundtable, up to the decision"),
    "ours_warm": ("ours", "session_warm", "Roundtable, desk already open"),
    "ours_json": ("ours", "session_json", "Roundtable, with --json output"),
    "langgraph": ("langgraph_peer", "session", "LangGraph"),
    "autogen": ("autogen_peer", "session", "AutoGen (one after the other)"),
}
"""Key: contestant, job, and what the table calls it."""

CALLS = 7
STREAMS = {1: 200, 20: 200}
"""Concurrent streams, and the tokens of each."""

TRIES = 3
FEW_TOKENS = 10
"""A run this short shows what setting up costs; it is taken off the long one, for everybody alike."""

HELP = {
    "ours": "from roundtable.doors.cli.main import main; main()",
    "floor": "from bench.empty_app import main; main()",
}


class Plan(msgspec.Struct, frozen=True):
    """How often everything is repeated."""

    sessions: int = 15
    streams: int = 5
    peer_streams: int = 3
    fresh: int = 3
    helps: int = 21
    openings: int = 15
    rounds: int = 9

    @classmethod
    def quick(cls) -> Plan:
        """Enough to see that it works."""
        return cls(sessions=3, streams=1, peer_streams=1, fresh=1, helps=5, openings=5, rounds=3)


class Series(msgspec.Struct, frozen=True):
    """Every measurement of a run, before any arithmetic."""

    overhead: dict[str, list[float]]
    wall: dict[str, list[float]]
    busy: dict[str, list[float]]
    prompt_bytes: dict[str, int]
    token_cpu: dict[str, dict[int, list[float]]]
    import_seconds: dict[str, list[float]]
    memory: dict[str, list[float]]
    help_wall: dict[str, list[float]]
    help_cpu: dict[str, list[float]]
    opening: dict[str, list[float]]
    curves: dict[str, list[dict[str, Any]]]


class Bench:
    """A run in progress."""

    def __init__(self, server: ModelServer, peers: Path, home: Path, plan: Plan, say: Callable[[str], None]) -> None:
        self._server = server
        self._peers = peers
        self._plan = plan
        self._say = say
        self._home = home

    def run(self) -> Series:
        """Measure everything, contestants in turns."""
        imports, memory = self._fresh_processes()
        help_wall, help_cpu = self._helps()
        overhead, wall, busy, prompts = self._sessions()
        token_cpu = self._token_cpu()
        opening, curves = self._growth()
        return Series(overhead, wall, busy, prompts, token_cpu, imports, memory, help_wall, help_cpu, opening, curves)

    def _worker(self, name: str) -> Worker:
        arguments: dict[str, Any] = {"home": str(self._home)} if name == "ours" else {}
        python = self._peers if name in PEERS else None
        return Worker(f"bench.contestants.{name}", python, base_url=self._server.url, **arguments)

    def _fresh_processes(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """A new process for every session: what the import takes, and the most memory it ever had."""
        imports: defaultdict[str, list[float]] = defaultdict(list)
        memory: defaultdict[str, list[float]] = defaultdict(list)
        for _ in self._times("import and memory", self._plan.fresh):
            for name in CONTESTANTS:
                with self._worker(name) as worker:
                    measured = worker.do("session_json" if name == "ours" else "session")
                imports[name].append(worker.import_seconds)
                memory[name].append(measured["peak"])
        return imports, memory

    def _helps(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        wall: defaultdict[str, list[float]] = defaultdict(list)
        cpu: defaultdict[str, list[float]] = defaultdict(list)
        for number in self._times("--help", self._plan.helps + 1):
            for name, code in HELP.items():
                seconds, used = timed([sys.executable, "-c", code, "--help"])
                if number:
                    wall[name].append(seconds)
                    cpu[name].append(used)
        return wall, cpu

    def _sessions(
        self,
    ) -> tuple[dict[str, list[float]], dict[str, list[float]], dict[str, list[float]], dict[str, int]]:
        overhead: defaultdict[str, list[float]] = defaultdict(list)
        walls: defaultdict[str, list[float]] = defaultdict(list)
        busies: defaultdict[str, list[float]] = defaultdict(list)
        prompts: dict[str, int] = {}
        with ExitStack() as stack:
            workers = {name: stack.enter_context(self._worker(name)) for name in CONTESTANTS}
            for number in self._times("sessions", self._plan.sessions + 1):
                for key, (name, job, _) in SESSIONS.items():
                    wall, busy, prompts[key] = self._session(workers[name], job)
                    if number:
                        overhead[key].append(wall - busy)
                        walls[key].append(wall)
                        busies[key].append(busy)
        return overhead, walls, busies, prompts

    def _session(self, worker: Worker, job: str) -> tuple[float, float, int]:
        """The wall, the busy seconds and the prompt bytes of one session."""
        self._server.calls()
        measured = worker.do(job)
        calls = self._server.calls()
        if len(calls) != CALLS:
            raise BenchError(f"{worker.name} made {len(calls)} calls in a session of {CALLS}.")
        busy = union((call["began"], call["ended"]) for call in calls)
        return measured["end"] - measured["start"], busy, sum(call["prompt_bytes"] for call in calls)

    def _token_cpu(self) -> dict[str, dict[int, list[float]]]:
        """Processor seconds per streamed token of the client's process, setting up not counted."""
        cpu: dict[str, dict[int, list[float]]] = {name: {streams: [] for streams in STREAMS} for name in CONTESTANTS}
        with ExitStack() as stack:
            workers = {name: stack.enter_context(self._worker(name)) for name in CONTESTANTS}
            for name, streams in ((name, streams) for name in workers for streams in STREAMS):
                workers[name].do("stream", streams=streams, tokens=FEW_TOKENS)
            for number in self._times("streams", self._plan.streams):
                for streams, tokens in STREAMS.items():
                    for name, worker in workers.items():
                        if name not in PEERS or number < self._plan.peer_streams:
                            cpu[name][streams].append(_per_token(worker, streams, tokens))
        return cpu

    def _growth(self) -> tuple[dict[str, list[float]], dict[str, list[dict[str, Any]]]]:
        with Worker("bench.growth", home=str(self._home)) as worker:
            self._say("opening a session of 2,000 moves")
            opening = worker.do("opening", repeats=self._plan.openings)
            self._say("rounds of 3 to 48 seats")
            rounds = worker.do("rounds", repeats=self._plan.rounds)
        return {"ours": opening["opened"], "floor": opening["read"]}, rounds["curves"]

    def _times(self, label: str, count: int) -> Iterator[int]:
        for number in range(count):
            self._say(f"{label} {number + 1}/{count}")
            yield number


def _per_token(worker: Worker, streams: int, tokens: int) -> float:
    """One measurement; a machine that stood still meanwhile glues tokens together, so such a one is not used."""
    lines = streams * tokens
    for _ in range(TRIES):
        short = worker.do("stream", streams=streams, tokens=FEW_TOKENS)
        long = worker.do("stream", streams=streams, tokens=tokens)
        if lines * 0.9 <= long["lines"] <= lines:
            return (long["cpu"] - short["cpu"]) / (streams * (tokens - FEW_TOKENS))
    raise BenchError(f"{worker.name} sent less than nine tenths of {lines} tokens, {TRIES} times.")


def per_seat(curves: dict[str, list[dict[str, Any]]], round: str, cost: str) -> dict[int, float]:
    """The median cost of a round divided by its seats, by number of seats."""
    return {int(size): median(run[round][cost] for run in values) / int(size) for size, values in curves.items()}
