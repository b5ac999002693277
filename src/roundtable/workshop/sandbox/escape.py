"""Proves the isolation of a sandbox by trying to break out of it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox.escape_attempts import HELD, OUT, Attempt
from roundtable.workshop.sandbox.run_result import Ended, ended

_KEPT = "as it was"


class Outcome(msgspec.Struct, frozen=True):
    """One attempt and whether the sandbox held; None with the reason in `note` where it could not be made."""

    attempt: str
    held: bool | None
    note: str = ""


class Witness(msgspec.Struct, frozen=True):
    """What an attempt is told of this machine: things that are really there and that it must not get at."""

    folder: str
    secret: str
    home: tuple[str, ...]
    port: int
    abstract: str
    victim: int
    token: str


async def outcomes(sandbox: Sandbox, attempts: Sequence[Attempt]) -> list[Outcome]:
    """Make the attempts, one after the other."""
    async with _witness() as witness:
        return [await _made(sandbox, witness, attempt) for attempt in attempts]


async def _made(sandbox: Sandbox, witness: Witness, attempt: Attempt) -> Outcome:
    told = json.dumps(msgspec.to_builtins(witness))
    argv = (sys.executable, "-I", "-S", "-c", attempt.source, told)
    end = await ended(sandbox, Job(argv, witness.folder, bounds=attempt.bounds))
    said = end.output.decode(errors="replace")
    if harm := _harm(witness):
        return Outcome(attempt.name, False, harm)
    if OUT in said:
        return Outcome(attempt.name, False, said.partition(OUT)[2].strip())
    if _as_wanted(end, attempt):
        return Outcome(attempt.name, True)
    if attempt.limit is not None:
        return Outcome(attempt.name, False, f"It should have met its bound ({attempt.limit}) and ended otherwise.")
    return Outcome(attempt.name, None, said.strip()[-200:] or end.stopped)


def _as_wanted(end: Ended, attempt: Attempt) -> bool:
    return end.limit is attempt.limit if attempt.limit is not None else end.code == HELD


def _harm(witness: Witness) -> str:
    """What is not as it was, if anything."""
    if sorted(os.listdir(witness.folder)) != ["kept.txt"] or (Path(witness.folder) / "kept.txt").read_text() != _KEPT:
        return "Its folder was written to."
    with open(f"/proc/{witness.victim}/stat", "rb") as file:
        return "Another process was ended." if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X") else ""


@asynccontextmanager
async def _witness() -> AsyncGenerator[Witness]:
    """A secret elsewhere, two servers, another process with a token among its variables, and a folder of its own."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        elsewhere, folder = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
        (elsewhere / "secret.txt").write_text(token)
        (folder / "kept.txt").write_text(_KEPT)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{token}")
        abstract.listen()
        victim = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()",
            stdin=asyncio.subprocess.PIPE, stdout=DEVNULL, stderr=DEVNULL, env={"WITNESS": token},
        )  # fmt: skip
        home = tuple(str(it) for it in Path.home().iterdir() if it.is_file()) if Path.home().is_dir() else ()
        try:
            yield Witness(
                folder=str(folder),
                secret=str(elsewhere / "secret.txt"),
                home=home[:20],
                port=server.getsockname()[1],
                abstract=token,
                victim=victim.pid,
                token=token,
            )
        finally:
            if victim.returncode is None:
                victim.kill()
            await victim.wait()
