"""The commands that hold one meeting each: `discuss` holds any, the others name theirs and offer fewer options."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from roundtable.core.session import Session
from roundtable.doors.cli.completion import shell_complete_session_names
from roundtable.doors.cli.meeting_options import (
    MEETING_HEADING,
    MeetingRequest,
    answer_choices_option,
    cli_apply_options,
    cli_meeting_options,
    cli_question_argument,
    cli_write_options,
    expand_cli_all_option,
    expand_cli_rounds_option,
    meeting_name_option,
    rounds_option,
)
from roundtable.doors.cli.open_meeting import (
    build_agenda_from_cli_options,
    cli_open_and_show_session,
    cli_run_meeting,
)
from roundtable.doors.cli.options import SectionCommand, cli_limit_option, cli_section_option
from roundtable.doors.cli.output import print_note, run_cli_command_at_session_desk
from roundtable.doors.cli.seat_choice import resolve_cli_seat_options

if TYPE_CHECKING:
    from roundtable.app.desk import CodeChanges, Roundtable


@click.command(cls=SectionCommand)
@cli_question_argument()
@meeting_name_option
@answer_choices_option
@cli_meeting_options()
@rounds_option
@cli_limit_option("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="Maximum tokens per answer.")
def discuss_command(question: str, rounds: int | None, **options: Any) -> int:
    """Put a question to the table and follow the discussion.

    Without QUESTION, or with `-`, the question is read from standard input. Ctrl-C stops the meeting
    and prints the command that resumes it. A voice is endpoint:model, cli:agent, acp:agent,
    embedded:model or script:path.toml.

    \b
    Examples:
      roundtable discuss "REST or GraphQL for our public API?"
      roundtable discuss "Which?" --option REST --option GraphQL -f api.md:10-50
      roundtable discuss "Safe?" --seat a=openai:gpt-4o --seat b=ollama:llama3
      git log -5 | roundtable discuss - --json

    Exit codes: 0 decided, 1 internal error or unusable record, 2 usage or config error,
    3 no decision, 4 degraded decision with --strict, 5 session held by another process,
    6 too few seats answered, 130 interrupted.
    """
    return cli_run_meeting(MeetingRequest(question, settings=expand_cli_rounds_option(rounds), **options))


@click.command(cls=SectionCommand)
@cli_question_argument()
@cli_section_option(
    MEETING_HEADING, "--follow-up-once", "follow_up", is_flag=True, help="Hold one more round if the stances differ."
)
@cli_meeting_options("decree")
def ask_command(question: str, follow_up: bool, **options: Any) -> int:
    """Get a second opinion in one round, with an optional follow-up round.

    Two or more seats answer in parallel; the synthesis quotes them word for word. With
    --follow-up-once, a second round is held if their stances differ.

    \b
    Examples:
      roundtable ask "Should we split this repository?"
      roundtable ask "Is this plan sound?" -f docs/rollout.md --follow-up-once
    """
    return cli_run_meeting(
        MeetingRequest(question, meeting="second-opinion", settings={"follow_up": follow_up}, **options)
    )


@click.command(cls=SectionCommand)
@cli_question_argument()
@cli_meeting_options("interjection-2", "choose", "execute", "decree")
@rounds_option
def debate_command(question: str, rounds: int | None, **options: Any) -> int:
    """Hold a debate: seats agree, object or add points until nobody objects.

    All seats answer in parallel, then reply with AGREE, OBJECT or ADD in rounds. If they cannot agree,
    you break the tie. Nothing is executed without your approval. To interject at any time, use
    `roundtable pause`, `say` and `resume` in another terminal.

    \b
    Examples:
      roundtable debate "REST, GraphQL or tRPC for the new API?"
      roundtable debate "How do we shard the users?" --context src/db --rounds 3
    """
    return cli_run_meeting(
        MeetingRequest(question, meeting="debate", settings=expand_cli_rounds_option(rounds), **options)
    )


@click.command("code-red", cls=SectionCommand)
@cli_question_argument()
@cli_meeting_options("outcome", "decree")
@rounds_option
def code_red_command(question: str, rounds: int | None, **options: Any) -> int:
    """Diagnose a fault: triage, blind diagnosis, then a shared root cause.

    Describe the symptom. Each seat first diagnoses alone, so that nobody follows the first guess. Then
    the seats converge on a root cause and ask for files as they need them. At the end you choose: fix
    it now, write a report, or add it to the error log.

    \b
    Examples:
      roundtable code-red "login crashes on submit since yesterday"
      roundtable code-red "p99 doubled" -f logs/api.txt --answer outcome=log
    """
    return cli_run_meeting(
        MeetingRequest(question, meeting="code-red", settings=expand_cli_rounds_option(rounds), **options)
    )


@click.command(cls=SectionCommand)
@cli_question_argument()
@answer_choices_option
@cli_meeting_options("choose", "decree")
def vote_command(question: str, **options: Any) -> int:
    """Have the seats pitch ideas, discuss them and rank them by ballot.

    Every seat pitches an idea or picks one of your options. All ideas are discussed and then ranked.
    If the ballot is a tie, you break it.

    \b
    Examples:
      roundtable vote "Which feature do we build next?"
      roundtable vote "Its name?" --option Round --option Oval --option Square
    """
    return cli_run_meeting(MeetingRequest(question, meeting="vote", **options))


@click.command(cls=SectionCommand)
@cli_question_argument("task")
@cli_write_options
@cli_meeting_options("which", "approve", "approve-tests", "destroy", "doubt", "decree")
def build_command(
    question: str, everything: bool, dry_run: bool, branch: str, answers: tuple[str, ...], **options: Any
) -> int:
    """Have every seat write code for a task, then test, judge and merge it.

    Every seat writes a candidate. The candidates run in a sandbox against your repository's checks and
    against each other's tests. Candidates that pass equally are judged without their authors' names.
    You review the result hunk by hunk, and only the hunks you approve are written.

    \b
    Examples:
      roundtable build "Add a --verbose option to the importer"
      roundtable build "Fix parse()" --file src/parse.py --branch fix-parse
      roundtable build "A small unit converter with tests" --dry-run
    """
    settings = {"dry_run": dry_run, "branch": branch}
    all_answers = expand_cli_all_option(answers, everything, dry_run)
    return cli_run_meeting(MeetingRequest(question, "task", "build", settings=settings, answers=all_answers, **options))


F = TypeVar("F", bound=Callable[..., Any])

SUMMON_QUESTION = "Review these changes: is anything wrong, missing or risky, and should they be accepted as they are?"


def _change_source_options(command: F) -> F:
    """Add the options that choose the code changes: of a branch, of a patch, or the uncommitted ones."""
    patch = cli_section_option(
        MEETING_HEADING,
        "--patch",
        type=click.File("rb"),
        metavar="FILE",
        help="Use the changes in this patch file; `-` reads the patch from standard input.",
    )
    branch = cli_section_option(
        MEETING_HEADING,
        "--branch",
        default="",
        metavar="NAME",
        help="Use the changes on this branch since it diverged from the main branch.",
    )
    return branch(patch(command))


def _collect_code_changes(branch: str, patch: IO[bytes] | None) -> CodeChanges:
    """Read the chosen code changes and print what was left out of them."""
    from roundtable.app.desk import CodeSource

    if branch and patch is not None:
        raise click.UsageError("Give either --branch or --patch.")
    source = CodeSource.here()
    changes = (
        source.read_patch(patch.read())
        if patch is not None
        else source.read_branch(branch)
        if branch
        else source.read_uncommitted()
    )
    for line in changes.notices:
        print_note(line)
    return changes


@click.command(cls=SectionCommand)
@click.argument("question", default=SUMMON_QUESTION)
@_change_source_options
@meeting_name_option
@cli_meeting_options()
def summon_command(question: str, branch: str, patch: IO[bytes] | None, **options: Any) -> int:
    """Discuss your code changes: uncommitted, on a branch or in a patch.

    By default these are your uncommitted changes, staged or not, and new files. Sensitive files and
    files that exceed the context limit are left out and listed. Without QUESTION, the seats review the
    changes.

    \b
    Examples:
      roundtable summon
      roundtable summon "Is the new locking safe?" --branch feature/locks
      curl -s https://example.com/7.diff | roundtable summon --patch -
    """
    return cli_run_meeting(MeetingRequest(question, texts=_collect_code_changes(branch, patch).texts, **options))


REVIEW_QUESTION = "What is wrong with these changes?"


@click.command(cls=SectionCommand)
@click.argument("question", default=REVIEW_QUESTION)
@_change_source_options
@cli_meeting_options("decree")
def review_command(question: str, branch: str, patch: IO[bytes] | None, **options: Any) -> int:
    """Review your code changes; a program reproduces or refutes each finding.

    Every seat reviews alone and adds to each finding a small program that shows it. The programs run
    in a sandbox, on a copy of the project with the changes and on a copy without them. Findings are
    not voted on, and your files are not changed. By default your uncommitted changes are reviewed.
    QUESTION can say what to look at.

    The exit code is 0 whether or not a finding was reproduced; if one was, the outcome is `rejected`.
    With --strict the exit code is 4 if a finding could not be verified.

    \b
    Examples:
      roundtable review
      roundtable review "Is the locking safe?" --branch feature/locks
      roundtable review --patch pull.diff --json
    """
    changes = _collect_code_changes(branch, patch)
    source = {"base": changes.base, "tip": changes.tip, "patch": patch is not None}
    return cli_run_meeting(MeetingRequest(question, meeting="review", settings=source, texts=changes.texts, **options))


@click.command(cls=SectionCommand)
@click.argument("session", default="", shell_complete=shell_complete_session_names)
@cli_section_option(
    MEETING_HEADING,
    "--by",
    default="",
    metavar="SEAT",
    help="Seat that writes the change; by default Roundtable chooses the seat.",
)
@cli_write_options
@cli_apply_options("plan", "approve", "approve-tests", "destroy", "decree")
def apply_command(
    session: str, by: str, everything: bool, dry_run: bool, branch: str, answers: tuple[str, ...], **options: Any
) -> int:
    """Apply a session's decision to your files; you approve each change.

    One seat writes the change, and it runs in a sandbox. You see the plan, then every hunk with the
    seat that asked for it and the seat that wrote it: approve it, reject it, edit it, or ask the table
    about it. The approved hunks are tested together, written in one step and committed;
    `roundtable undo` reverts them. Without SESSION, the newest session here with a decision is used.

    \b
    Examples:
      roundtable apply
      roundtable apply 2026-11-15-rest-or-graphql --by claude --branch rest
      roundtable apply last --dry-run
    """
    settings = {"dry_run": dry_run, "branch": branch, "by": by}
    request = MeetingRequest(
        "", meeting="apply", settings=settings, answers=expand_cli_all_option(answers, everything, dry_run), **options
    )
    request.output_mode.check()
    return run_cli_command_at_session_desk(
        lambda desk: _find_session_id(desk, session), lambda desk, chosen: _apply(desk, chosen, request)
    )


async def _find_session_id(desk: Roundtable, address: str) -> str:
    return await desk.sessions.find(address) if address else (await desk.meetings.find_session_to_apply("")).id


async def _apply(desk: Roundtable, chosen: Session, request: MeetingRequest) -> int:
    decided = await desk.meetings.find_session_to_apply(chosen.id)
    seats = await resolve_cli_seat_options(desk, request) if request.seats else ()
    return await cli_open_and_show_session(
        desk, desk.meetings.plan_apply(decided, build_agenda_from_cli_options(desk, request, seats)), request
    )
