"""`python -m roundtable.voices.fault_server` prints its address as one line and serves until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from roundtable.voices.fault_server.behaviours import BEHAVIOURS
from roundtable.voices.fault_server.scripted_answer import DEFAULT_ANSWER_TEXT
from roundtable.voices.fault_server.server import FaultServer


async def _serve_until_stopped(options: argparse.Namespace) -> None:
    async with FaultServer(**vars(options)) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def _run_fault_server() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(
        description="Simulate the four model APIs on this machine, with the faults that a request asks for."
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before the first word")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens per second; 0 for no limit")
    parser.add_argument("--tokens", type=int, default=0, help="tokens in an answer; 0 sends the text once")
    parser.add_argument("--text", default=DEFAULT_ANSWER_TEXT)
    parser.add_argument("--behave", default="", choices=["", *BEHAVIOURS], help="behaviour for every request")
    parser.add_argument("--target", default="written-by-the-model.txt", help="the file that `write` tries to write")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_until_stopped(parser.parse_args()))


if __name__ == "__main__":
    _run_fault_server()
