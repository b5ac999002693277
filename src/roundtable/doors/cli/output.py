"""Functions that all commands share: opening the desk, exit codes, error messages and notes."""

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
from roundtable.core.text.wording import add_full_stop_to_text
from roundtable.core.values import Decision, Outcome
from roundtable.doors.cli.stderr import redact_cli_stderr, redact_cli_stderr_until_exit

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

T = TypeVar("T")

EXIT_OK, EXIT_NO_DECISION, EXIT_DEGRADED, EXIT_NO_QUORUM, EXIT_INTERRUPTED = 0, 3, 4, 6, 130
SHORT_ID_LENGTH = 13
"""Length of the timestamp in an id, which is enough to distinguish one person's sessions."""


def run_cli_command_at_desk(
    work: Callable[[Roundtable], Awaitable[T]], *, only_reads: bool = False, workspace: Path | None = None
) -> T:
    """Open the desk of this person in a workspace, run some work at it, and close it.

    With `only_reads`, an invalid config is reported and ignored.
    """

    async def open_and_work() -> T:
        async with _open_desk(workspace, only_reads=only_reads) as desk:
            return await work(desk)

    return asyncio.run(open_and_work())


def run_cli_command_at_session_desk(
    find: Callable[[Roundtable], Awaitable[str]], work: Callable[[Roundtable, Session], Awaitable[T]]
) -> T:
    """Find a session from here, and run some work on it at the desk of the workspace it belongs to."""

    async def open_and_work() -> T:
        async with _open_desk() as current_desk:
            session = await current_desk.sessions.get(await find(current_desk))
            home = current_desk.sessions.workspace_of(session)
            if home == current_desk.workspace:
                if Path(session.charter.workspace) != home:
                    print_note(f"The session's folder {session.charter.workspace} no longer exists.")
                    print_note("The session continues in this folder.")
                return await work(current_desk, session)
        print_note(f"This session belongs to the workspace {home} and continues there.")
        async with _open_desk(home) as home_desk:
            return await work(home_desk, session)

    return asyncio.run(open_and_work())


@asynccontextmanager
async def _open_desk(workspace: Path | None = None, *, only_reads: bool = False) -> AsyncGenerator[Roundtable]:
    from roundtable.app.desk import Config, Roundtable, Settings

    try:
        opened = await Roundtable.open(workspace, opened_in=Path.cwd())
    except ConfigError as error:
        if not only_reads:
            raise
        with redact_cli_stderr():
            print_note(f"The config is invalid and was ignored. {add_full_stop_to_text(error.message)} {error.help}")
        opened = await Roundtable.open(workspace, settings=Settings(Config()), opened_in=Path.cwd())
    async with opened as desk:
        redact_cli_stderr_until_exit(desk.redactor)
        for notice in desk.recovered:
            print_note(notice)
        yield desk


def decision_exit_code(decision: Decision, *, limited: bool = False, strict: bool = False) -> int:
    """The exit code for a decision; `limited` says that a limit of the charter stopped the session."""
    if decision.is_decided:
        return EXIT_DEGRADED if strict and decision.degraded else EXIT_OK
    if decision.outcome is Outcome.FAILED or (decision.outcome is Outcome.INSUFFICIENT and not limited):
        return EXIT_NO_QUORUM
    return EXIT_NO_DECISION


def _was_stopped_by_limit(session: Session) -> bool:
    """Whether a limit prevented a round that was not held later either."""
    return any(round not in session.rounds for round in session.limit_stops)


def session_exit_code(session: Session, *, strict: bool = False) -> int:
    """The exit code for a recorded session."""
    if session.decision is None:
        return EXIT_NO_DECISION
    return decision_exit_code(session.decision, limited=_was_stopped_by_limit(session), strict=strict)


async def shortest_cli_session_argument(desk: Roundtable, session: str, slug: str) -> str:
    """The shortest address that identifies this session: its slug, the start of its id, or its id."""
    for address in (slug, session[:SHORT_ID_LENGTH]):
        try:
            if await desk.sessions.find(address) == session:
                return address
        except UsageError:
            continue
    return session


# --- errors --------------------------------------------------------------------------------------


def print_error_with_help(error: Exception, *, debug: bool = False) -> int:
    """Print an error and its help on standard error; returns the exit code."""
    if isinstance(error, BrokenPipeError):
        discard_closed_stdout()
        return EXIT_OK
    with redact_cli_stderr():
        if debug:
            traceback.print_exception(error)
        if isinstance(error, RoundtableError):
            _print_error(error.message, error.help)
            return error.exit_code
        _print_error(
            f"Internal error: {type(error).__name__}: {error}".rstrip(". "),
            "Please report this error with the output above."
            if debug
            else "Please report this error. Run the command again with --debug and include the output.",
        )
        return 1


def _print_error(message: str, help: str = "") -> None:
    """Print an error message and what to do about it."""
    print_note(f"Error: {add_full_stop_to_text(message)}")
    if help:
        print_note(add_full_stop_to_text(help))


def print_note(text: str) -> None:
    """Print a line on standard error, with control characters removed."""
    from roundtable.core.text.sanitize import sanitize_text

    click.echo(sanitize_text(text), err=True)


def discard_closed_stdout() -> None:
    """Point standard output at /dev/null after its reader has gone, so that Python does not fail when it exits."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def resolve_cli_path_argument(typed: str) -> Path:
    """The absolute path for a typed one, with its parent folder resolved; the path itself may be a link."""
    path = Path(typed).expanduser().absolute()
    return path.parent.resolve() / path.name
