"""The trials, and how one is held: every contestant in a process of its own, before a fault server of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from bench.contestants.agenda import SEATS
from bench.faults.cells import FAULTY, SLACK, Cell, Trial, cell
from bench.processes import Worker
from roundtable.core.values import Limits
from roundtable.voices.fault_server import FaultServer

CONTESTANTS = {
    "ours": "Roundtable",
    "langgraph_peer": "LangGraph",
    "autogen_peer": "AutoGen",
    "llm_council_peer": "llm-council-core",
}

STATED = 5.0
"""Seconds for a seat, in the trial in which everybody states how long a seat may take."""

FAULTS = (
    Trial("429", "429"),
    Trial("500", "500"),
    Trial("HTML with 200", "html"),
    Trial("empty", "empty"),
    Trial(f"hang, {STATED:g} s stated", "hang", STATED),
    Trial("hang, as it comes", "hang", bound=Limits().seat_timeout + SLACK),
)
NO_FAULT = Trial("no fault", "normal")
"""Shows that everybody's program works."""

ANSWER = """REST, because every client we have speaks it already and a cache in front of plain URLs is worth a lot.

{"position": "REST", "confidence": 7}"""


async def hold(trial: Trial, home: Path, peers: Path) -> list[Cell]:
    """Everybody side by side: a trial is mostly waiting, and nothing tight is measured."""
    return await asyncio.gather(*(_cell(trial, name, home, peers) for name in CONTESTANTS))


async def _cell(trial: Trial, name: str, home: Path, peers: Path) -> Cell:
    async with FaultServer(text=ANSWER) as server:
        returned = await asyncio.to_thread(_returned, trial, name, server.url, home, peers)
        requests = [request for request in server.seen if request.behaviour == trial.behaviour]
        return cell(trial, name, returned, [json.dumps(request.body.get("messages")) for request in requests])


def _returned(trial: Trial, name: str, base_url: str, home: Path, peers: Path) -> dict[str, Any] | None:
    arguments: dict[str, Any] = {"home": str(home / trial.name)} if name == "ours" else {}
    python = None if name == "ours" else peers
    models = {seat: trial.behaviour if seat == FAULTY else seat for seat in SEATS}
    with Worker(f"bench.contestants.{name}", python, base_url=base_url, **arguments) as worker:
        return worker.do_within(trial.bound, "faulty", models=models, timeout=trial.timeout)
