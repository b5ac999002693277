"""The meetings that have a command of their own: each is `discuss` with its rules named and few options.

`discuss`: put a question to the table, by the rules of any meeting.

`build`: from a task to code that runs, in one meeting; what is written is the person's to say.

`summon` and `review`: put changes to the table, so that they are looked at before they are anybody else's.

`review`: have changes reviewed, and what is found reproduced or refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from roundtable.doors.cli.meeting_options import (
    MEETING,
    Given,
    answers_with,
    choices_option,
    meeting_options,
    question_argument,
    round_settings,
    rounds_option,
    which_option,
    writing_options,
)
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand, limit, option
from roundtable.doors.cli.output import note

if TYPE_CHECKING:
    from roundtable.app.opening.code_changes import Found


@click.command(cls=HeadedCommand)
@question_argument()
@which_option
@choices_option
@meeting_options()
@rounds_option
@limit("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="The longest single answer.")
def discuss(question: str, rounds: int | None, **given: Any) -> int:
    """Put a question to the table and follow the discussion.

    Without QUESTION, or with `-`, it is read from standard input. Ctrl-C stops the meeting and says
    how to resume it. Voices are endpoint:model, cli:agent, acp:agent, embedded:model or
    script:path.toml.

    \b
    Examples:
      roundtable discuss "REST or GraphQL for our public API?"
      roundtable discuss "Which?" --option REST --option GraphQL -f api.md:10-50
      roundtable discuss "Safe?" --seat a=openai:gpt-4o --seat b=ollama:llama3
      git log -5 | roundtable discuss - --json

    Exit codes: 0 decided, 1 our own fault or a record that cannot be used, 2 usage or config,
    3 no decision, 4 degraded under --strict, 5 held by another process,
    6 too few seats answered, 130 interrupted.
    """
    return hold(Given(question, settings=round_settings(rounds), **given))


@click.command(cls=HeadedCommand)
@question_argument()
@option(MEETING, "--follow-up-once", "follow_up", is_flag=True, help="Hold one more round if their stances differ.")
@meeting_options("decree")
def ask(question: str, follow_up: bool, **given: Any) -> int:
    """Get a second opinion: one round, and one more if they differ.

    Two seats or more answer at once; what they said is put together in their own words. The second
    round is held only with --follow-up-once, and only where their stances differ.

    \b
    Examples:
      roundtable ask "Should we split this repository?"
      roundtable ask "Is this plan sound?" -f docs/rollout.md --follow-up-once
    """
    return hold(Given(question, meeting="second-opinion", settings={"follow_up": follow_up}, **given))


@click.command(cls=HeadedCommand)
@question_argument()
@meeting_options("interjection-2", "choose", "execute", "decree")
@rounds_option
def debate(question: str, rounds: int | None, **given: Any) -> int:
    """Have the seats agree, object and add until nobody objects.

    All seats answer at once, then say AGREE, OBJECT or ADD in rounds. Where they cannot agree you
    break the tie. Nothing is carried out without your yes. `roundtable pause`, `say` and `resume`
    in another terminal let you interject at any time.

    \b
    Examples:
      roundtable debate "REST, GraphQL or tRPC for the new API?"
      roundtable debate "How do we shard the users?" --context src/db --rounds 3
    """
    return hold(Given(question, meeting="debate", settings=round_settings(rounds), **given))


@click.command("code-red", cls=HeadedCommand)
@question_argument()
@meeting_options("outcome", "decree")
@rounds_option
def code_red(question: str, rounds: int | None, **given: Any) -> int:
    """Have a fault diagnosed: triage, blind, then together.

    Say what you see. Each seat first looks alone, so that nobody follows the first guess; they
    converge on a root cause, asking for files as they need them. At the end you choose: fix it now,
    a report only, or a line in the error log for later.

    \b
    Examples:
      roundtable code-red "login crashes on submit since yesterday"
      roundtable code-red "p99 doubled" -f logs/api.txt --answer outcome=log
    """
    return hold(Given(question, meeting="code-red", settings=round_settings(rounds), **given))


@click.command(cls=HeadedCommand)
@question_argument()
@choices_option
@meeting_options("choose", "decree")
def vote(question: str, **given: Any) -> int:
    """Have ideas pitched, discussed and ranked by ballot.

    Every seat pitches an idea, or takes one of the options you give; all are discussed and then
    ranked. A ballot that ends in a tie is yours to break.

    \b
    Examples:
      roundtable vote "Which feature do we build next?"
      roundtable vote "Its name?" --option Round --option Oval --option Square
    """
    return hold(Given(question, meeting="vote", **given))


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


REVIEW_QUESTION = "What is wrong with these changes?"


@click.command(cls=HeadedCommand)
@click.argument("question", default=REVIEW_QUESTION)
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
