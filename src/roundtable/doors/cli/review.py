"""`review`: have changes reviewed, and what is found reproduced or refuted."""

from __future__ import annotations

from typing import IO, Any

import click

from roundtable.doors.cli.meeting_options import Given, meeting_options
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand
from roundtable.doors.cli.summon import changes_found, changes_options

QUESTION = "What is wrong with these changes?"


@click.command(cls=HeadedCommand)
@click.argument("question", default=QUESTION)
@changes_options
@meeting_options("decree")
def review(question: str, branch: str, patch: IO[bytes] | None, **given: Any) -> int:
    """Have your changes reviewed; what is found is reproduced or refuted.

    Every seat reviews alone and gives each finding a small program that shows it. The programs run
    in a sandbox, on a copy of the project with the changes and on one without. Nothing is voted
    on, and nothing of yours is written. Without --branch or --patch it is what you have not
    committed. QUESTION may say what to look at.

    The exit code is 0 whether or not something was reproduced: the decision says `rejected` if it
    was. With --strict it is 4 where something stayed unproven.

    \b
    Examples:
      roundtable review
      roundtable review "Is the locking safe?" --branch feature/locks
      roundtable review --patch pull.diff --json
    """
    found = changes_found(branch, patch)
    where = {"base": found.base, "tip": found.tip, "patch": patch is not None}
    return hold(Given(question, meeting="review", settings=where, texts=found.texts, **given))
