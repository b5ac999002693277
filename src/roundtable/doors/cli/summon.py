"""`summon` and `review`: put changes to the table, so that they are looked at before they are anybody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from roundtable.doors.cli.meeting_options import MEETING, Given, meeting_options, which_option
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand, option
from roundtable.doors.cli.output import note

if TYPE_CHECKING:
    from roundtable.app.opening.code_changes import Found

F = TypeVar("F", bound=Callable[..., Any])

QUESTION = "Review these changes: is anything wrong, missing or risky, and should they go in as they are?"


def changes_options(command: F) -> F:
    """Which changes: a branch's or a patch's; without either, what is not committed."""
    patch = option(
        MEETING,
        "--patch",
        type=click.File("rb"),
        metavar="FILE",
        help="A patch, such as a pull request's; `-` reads it.",
    )
    branch = option(
        MEETING, "--branch", default="", metavar="NAME", help="What a branch changed since it left the main one."
    )
    return branch(patch(command))


def changes_found(branch: str, patch: IO[bytes] | None) -> Found:
    """The changes that were named; what of them is not looked at is said."""
    from roundtable.app.opening.code_changes import changed, changed_on, patched

    if branch and patch is not None:
        raise click.UsageError("Give either --branch or --patch.")
    here = Path.cwd()
    found = patched(patch.read()) if patch is not None else changed_on(here, branch) if branch else changed(here)
    for line in found.notices:
        note(line)
    return found


@click.command(cls=HeadedCommand)
@click.argument("question", default=QUESTION)
@changes_options
@which_option
@meeting_options()
def summon(question: str, branch: str, patch: IO[bytes] | None, **given: Any) -> int:
    """Put your changes to the table: git diff, a branch or a patch.

    Without --branch or --patch it is what you have not committed, staged or not, and new files.
    Sensitive files are left out and named, and so is whatever has no room. QUESTION asks for a
    review if you give none.

    \b
    Examples:
      roundtable summon
      roundtable summon "Is the new locking safe?" --branch feature/locks
      curl -s https://example.com/7.diff | roundtable summon --patch -
    """
    return hold(Given(question, texts=changes_found(branch, patch).texts, **given))
