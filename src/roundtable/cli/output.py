"""What every command shares: the way to the desk, exit codes, errors in two sentences, and figures for people."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from roundtable.cli.clean_errors import clean_stderr, keep_clean
from roundtable.core.faults import ConfigError, RoundtableError, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Decision, Outcome

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

T = TypeVar("T")

TAKEN, NO_DECISION, DEGRADED, NOT_HEARD, INTERRUPTED = 0, 3, 4, 6, 130
SHORT_ID = 13
"""The part of an id that holds its milliseconds: enough to tell sessions of one person apart."""


def at_desk(work: Callable[[Roundtable], Awaitable[T]], *, only_reads: bool = False) -> T:
    """Open the desk of this person and workspace, do something there, and close it again.

    What only reads the record is done without a config if it cannot be read, and says so.
    """
    from roundtable.app.config import Config, Settings
    from roundtable.app.desk import Roundtable

    async def opened() -> Roundtable:
        try:
            return await Roundtable.open()
        except ConfigError as error:
            if not only_reads:
                raise
            with clean_stderr():
                note(f"The config is passed over. {sentence(error.message)} {error.help}")
            return await Roundtable.open(loaded=Settings(Config()))

    async def sit() -> T:
        async with await opened() as desk:
            keep_clean(desk.redactor)
            for told in desk.settled:
                note(told)
            return await work(desk)

    return asyncio.run(sit())


def exit_code(decision: Decision, *, limited: bool = False, strict: bool = False) -> int:
    """How a command ends that saw a session end; `limited` when a bound of the charter stopped it."""
    if decision.settled:
        return DEGRADED if strict and decision.degraded else TAKEN
    if decision.outcome is Outcome.FAILED or (decision.outcome is Outcome.INSUFFICIENT and not limited):
        return NOT_HEARD
    return NO_DECISION


def limited(session: Session) -> bool:
    """Whether a bound kept a round from being opened, and no later amendment let it open after all."""
    return any(round not in session.rounds for round in session.limit_stops)


def ended_with(session: Session, *, strict: bool = False) -> int:
    """The exit code of a session as it stands on the record."""
    if session.decision is None:
        return NO_DECISION
    return exit_code(session.decision, limited=limited(session), strict=strict)


async def address_of(desk: Roundtable, session: str, slug: str) -> str:
    """The shortest address that means this session and no other."""
    for address in (slug, session[:SHORT_ID]):
        try:
            if await desk.find(address) == session:
                return address
        except UsageError:
            continue
    return session


# --- errors --------------------------------------------------------------------------------------


def explain(error: Exception, *, debug: bool = False) -> int:
    """Say on standard error what is wrong and what to do; the exit code is returned."""
    if isinstance(error, BrokenPipeError):
        let_go_of_stdout()
        return TAKEN
    with clean_stderr():
        if debug:
            traceback.print_exception(error)
        if isinstance(error, RoundtableError):
            complain(error.message, error.help)
            return error.exit_code
        complain(
            f"Our own fault: {type(error).__name__}: {error}".rstrip(". "),
            "Please report it." if debug else "Please report it, with what the same command says under --debug.",
        )
        return 1


def complain(message: str, help: str = "") -> None:
    """An error in two sentences."""
    note(f"Error: {sentence(message)}")
    if help:
        note(sentence(help))


def note(text: str) -> None:
    """A line for people on standard error; words from outside are made safe on the way."""
    from roundtable.core.views import clean

    click.echo(clean(text), err=True)


def sentence(text: str) -> str:
    """The text with a stop at its end."""
    text = text.strip()
    return f"{text}." if text[-1:].isalnum() else text


def let_go_of_stdout() -> None:
    """Nobody reads us any more: keep the interpreter from complaining about it at the end."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


# --- figures -------------------------------------------------------------------------------------


def count(number: int) -> str:
    """`812`, `1.2k`, `34k`: as short as a panel's edge needs it."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def seconds(elapsed: float) -> str:
    """`1.2s`, `48s`, `3m05s`."""
    if elapsed < 10:
        return f"{elapsed:.1f}s"
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
