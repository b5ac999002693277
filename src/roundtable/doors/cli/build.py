"""`build`: from a task to code that runs, in one meeting; what is written is the person's to say."""

from __future__ import annotations

from typing import Any

import click

from roundtable.doors.cli.meeting_options import (
    Given,
    answers_with,
    meeting_options,
    question_argument,
    writing_options,
)
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand


@click.command(cls=HeadedCommand)
@question_argument("task")
@writing_options
@meeting_options("which", "approve", "approve-tests", "destroy", "doubt", "decree")
def build(question: str, everything: bool, dry_run: bool, branch: str, answers: tuple[str, ...], **given: Any) -> int:
    """Have a task written by every seat, run, judged and put together.

    Every seat writes a candidate. They are run in a sandbox against your repository's own checks
    and each other's tests; what cannot be told apart that way is judged blind. You then see the
    result hunk by hunk, and only what you take is written.

    \b
    Examples:
      roundtable build "Add a --verbose option to the importer"
      roundtable build "Mend parse()" --file src/parse.py --branch parse-mended
      roundtable build "A small unit converter with tests" --dry-run
    """
    settings = {"dry_run": dry_run, "branch": branch}
    ahead = answers_with(answers, everything, dry_run)
    return hold(Given(question, "task", "build", settings=settings, answers=ahead, **given))
