"""What every command shares: the way to the desk, exit codes, errors in two sentences, and figures for people."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from roundtable.core.faults import ConfigError, RoundtableError, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Decision, Outcome
from roundtable.doors.cli.stderr import redact_stderr, redact_stderr_until_exit
from roundtable.report.figures import format_sentence

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

T = TypeVar("T")

EXIT_OK, EXIT_NO_DECISION, EXIT_DEGRADED, EXIT_NO_QUORUM, EXIT_INTERRUPTED = 0, 3, 4, 6, 130
SHORT_ID_LENGTH = 13
"""The part of an id that holds its milliseconds: enough to tell sessions of one person apart."""


def run_at_desk(
    work: Callable[[Roundtable], Awaitable[T]], *, only_reads: bool = False, workspace: Path | None = None
) -> T:
    """Open the desk of this person and workspace, do something there, and close it again.

    What only reads the record is done without a config if it cannot be read, and says so. What is opened in another
    `workspace` is found from here as well.
    """

    async def sit() -> T:
        async with _desk(workspace, only_reads=only_reads) as desk:
            return await work(desk)

    return asyncio.run(sit())


def run_at_session_desk(
    find: Callable[[Roundtable], Awaitable[str]], work: Callable[[Roundtable, Session], Awaitable[T]]
) -> T:
    """Find a session from here, and do something with it at the desk of the workspace that it belongs to."""

    async def sit() -> T:
        async with _desk() as here:
            session = await here.sessions.get(await find(here))
            home = here.sessions.workspace_of(session)
            if home == here.workspace:
                if Path(session.charter.workspace) != home:
                    print_note(
                        f"The session's folder {session.charter.workspace} no longer exists; it continues in this one."
                    )
                return await work(here, session)
        print_note(f"This session belongs to {home}; it reads, runs and writes there.")
        async with _desk(home) as there:
            return await work(there, session)

    return asyncio.run(sit())


@asynccontextmanager
async def _desk(workspace: Path | None = None, *, only_reads: bool = False) -> AsyncGenerator[Roundtable]:
    from roundtable.app.desk import Config, Roundtable, Settings

    try:
        opened = await Roundtable.open(workspace, opened_in=Path.cwd())
    except ConfigError as error:
        if not only_reads:
            raise
        with redact_stderr():
            print_note(f"The config is ignored. {format_sentence(error.message)} {error.help}")
        opened = await Roundtable.open(workspace, settings=Settings(Config()), opened_in=Path.cwd())
    async with opened as desk:
        redact_stderr_until_exit(desk.redactor)
        for told in desk.recovered:
            print_note(told)
        yield desk


def decision_exit_code(decision: Decision, *, limited: bool = False, strict: bool = False) -> int:
    """How a command ends that saw a session end; `limited` when a bound of the charter stopped it."""
    if decision.is_decided:
        return EXIT_DEGRADED if strict and decision.degraded else EXIT_OK
    if decision.outcome is Outcome.FAILED or (decision.outcome is Outcome.INSUFFICIENT and not limited):
        return EXIT_NO_QUORUM
    return EXIT_NO_DECISION


def was_stopped_by_limit(session: Session) -> bool:
    """Whether a bound kept a round from being opened, and no later amendment let it open after all."""
    return any(round not in session.rounds for round in session.limit_stops)


def session_exit_code(session: Session, *, strict: bool = False) -> int:
    """The exit code of a session as it stands on the record."""
    if session.decision is None:
        return EXIT_NO_DECISION
    return decision_exit_code(session.decision, limited=was_stopped_by_limit(session), strict=strict)


async def shortest_session_address(desk: Roundtable, session: str, slug: str) -> str:
    """The shortest address that means this session and no other."""
    for address in (slug, session[:SHORT_ID_LENGTH]):
        try:
            if await desk.sessions.find(address) == session:
                return address
        except UsageError:
            continue
    return session


# --- errors --------------------------------------------------------------------------------------


def report_error(error: Exception, *, debug: bool = False) -> int:
    """Say on standard error what is wrong and what to do; the exit code is returned."""
    if isinstance(error, BrokenPipeError):
        detach_stdout()
        return EXIT_OK
    with redact_stderr():
        if debug:
            traceback.print_exception(error)
        if isinstance(error, RoundtableError):
            print_error(error.message, error.help)
            return error.exit_code
        print_error(
            f"Internal error: {type(error).__name__}: {error}".rstrip(". "),
            "Please report it." if debug else "Please report it with the output of the same command and --debug.",
        )
        return 1


def print_error(message: str, help: str = "") -> None:
    """An error in two sentences."""
    print_note(f"Error: {format_sentence(message)}")
    if help:
        print_note(format_sentence(help))


def print_note(text: str) -> None:
    """A line for people on standard error; words from outside are made safe on the way."""
    from roundtable.core.text.sanitize import sanitize_text

    click.echo(sanitize_text(text), err=True)


def detach_stdout() -> None:
    """Nobody reads us any more: keep the interpreter from complaining about it at the end."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def resolve_typed_path(typed: str) -> Path:
    """The place that a person names from where they stand, without turns; what it is itself may be a link."""
    path = Path(typed).expanduser().absolute()
    return path.parent.resolve() / path.name


# --- figures -------------------------------------------------------------------------------------
