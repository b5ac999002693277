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
    MEETING_HEADING,
    MeetingRequest,
    add_approve_all_answer,
    answer_choices_option,
    meeting_name_option,
    meeting_options,
    question_argument,
    round_settings,
    rounds_option,
    write_options,
)
from roundtable.doors.cli.open_meeting import hold_meeting
from roundtable.doors.cli.options import SectionCommand, limit_option, section_option
from roundtable.doors.cli.output import print_note

if TYPE_CHECKING:
    from roundtable.app.opening.code_changes import CodeChanges


@click.command(cls=SectionCommand)
@question_argument()
@meeting_name_option
@answer_choices_option
@meeting_options()
@rounds_option
@limit_option("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="The longest single answer.")
def discuss_command(question: str, rounds: int | None, **given: Any) -> int:
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
    return hold_meeting(MeetingRequest(question, settings=round_settings(rounds), **given))


@click.command(cls=SectionCommand)
@question_argument()
@section_option(
    MEETING_HEADING, "--follow-up-once", "follow_up", is_flag=True, help="Hold one more round if their stances differ."
)
@meeting_options("decree")
def ask_command(question: str, follow_up: bool, **given: Any) -> int:
    """Get a second opinion: one round, and one more if they differ.

    Two seats or more answer at once; what they said is put together in their own words. The second
    round is held only with --follow-up-once, and only where their stances differ.

    \b
    Examples:
      roundtable ask "Should we split this repository?"
      roundtable ask "Is this plan sound?" -f docs/rollout.md --follow-up-once
    """
    return hold_meeting(MeetingRequest(question, meeting="second-opinion", settings={"follow_up": follow_up}, **given))


@click.command(cls=SectionCommand)
@question_argument()
@meeting_options("interjection-2", "choose", "execute", "decree")
@rounds_option
def debate_command(question: str, rounds: int | None, **given: Any) -> int:
    """Have the seats agree, object and add until nobody objects.

    All seats answer at once, then say AGREE, OBJECT or ADD in rounds. Where they cannot agree you
    break the tie. Nothing is carried out without your yes. `roundtable pause`, `say` and `resume`
    in another terminal let you interject at any time.

    \b
    Examples:
      roundtable debate "REST, GraphQL or tRPC for the new API?"
      roundtable debate "How do we shard the users?" --context src/db --rounds 3
    """
    return hold_meeting(MeetingRequest(question, meeting="debate", settings=round_settings(rounds), **given))


@click.command("code-red", cls=SectionCommand)
@question_argument()
@meeting_options("outcome", "decree")
@rounds_option
def code_red_command(question: str, rounds: int | None, **given: Any) -> int:
    """Have a fault diagnosed: triage, blind, then together.

    Say what you see. Each seat first looks alone, so that nobody follows the first guess; they
    converge on a root cause, asking for files as they need them. At the end you choose: fix it now,
    a report only, or a line in the error log for later.

    \b
    Examples:
      roundtable code-red "login crashes on submit since yesterday"
      roundtable code-red "p99 doubled" -f logs/api.txt --answer outcome=log
    """
    return hold_meeting(MeetingRequest(question, meeting="code-red", settings=round_settings(rounds), **given))


@click.command(cls=SectionCommand)
@question_argument()
@answer_choices_option
@meeting_options("choose", "decree")
def vote_command(question: str, **given: Any) -> int:
    """Have ideas pitched, discussed and ranked by ballot.

    Every seat pitches an idea, or takes one of the options you give; all are discussed and then
    ranked. A ballot that ends in a tie is yours to break.

    \b
    Examples:
      roundtable vote "Which feature do we build next?"
      roundtable vote "Its name?" --option Round --option Oval --option Square
    """
    return hold_meeting(MeetingRequest(question, meeting="vote", **given))


@click.command(cls=SectionCommand)
@question_argument("task")
@write_options
@meeting_options("which", "approve", "approve-tests", "destroy", "doubt", "decree")
def build_command(
    question: str, everything: bool, dry_run: bool, branch: str, answers: tuple[str, ...], **given: Any
) -> int:
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
    ahead = add_approve_all_answer(answers, everything, dry_run)
    return hold_meeting(MeetingRequest(question, "task", "build", settings=settings, answers=ahead, **given))


F = TypeVar("F", bound=Callable[..., Any])

SUMMON_QUESTION = "Review these changes: is anything wrong, missing or risky, and should they go in as they are?"


def change_source_options(command: F) -> F:
    """Which changes: a branch's or a patch's; without either, what is not committed."""
    patch = section_option(
        MEETING_HEADING,
        "--patch",
        type=click.File("rb"),
        metavar="FILE",
        help="A patch, such as a pull request's; `-` reads it.",
    )
    branch = section_option(
        MEETING_HEADING,
        "--branch",
        default="",
        metavar="NAME",
        help="What a branch changed since it left the main one.",
    )
    return branch(patch(command))


def collect_code_changes(branch: str, patch: IO[bytes] | None) -> CodeChanges:
    """The changes that were named; what of them is not looked at is said."""
    from roundtable.app.opening.code_changes import read_branch_changes, read_patch_changes, read_uncommitted_changes

    if branch and patch is not None:
        raise click.UsageError("Give either --branch or --patch.")
    here = Path.cwd()
    found = (
        read_patch_changes(patch.read())
        if patch is not None
        else read_branch_changes(here, branch)
        if branch
        else read_uncommitted_changes(here)
    )
    for line in found.notices:
        print_note(line)
    return found


@click.command(cls=SectionCommand)
@click.argument("question", default=SUMMON_QUESTION)
@change_source_options
@meeting_name_option
@meeting_options()
def summon_command(question: str, branch: str, patch: IO[bytes] | None, **given: Any) -> int:
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
    return hold_meeting(MeetingRequest(question, texts=collect_code_changes(branch, patch).texts, **given))


REVIEW_QUESTION = "What is wrong with these changes?"


@click.command(cls=SectionCommand)
@click.argument("question", default=REVIEW_QUESTION)
@change_source_options
@meeting_options("decree")
def review_command(question: str, branch: str, patch: IO[bytes] | None, **given: Any) -> int:
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
    found = collect_code_changes(branch, patch)
    where = {"base": found.base, "tip": found.tip, "patch": patch is not None}
    return hold_meeting(MeetingRequest(question, meeting="review", settings=where, texts=found.texts, **given))
