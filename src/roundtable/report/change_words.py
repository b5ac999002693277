"""Sentences and tables about a change of files: its candidates, checks, hunks and their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from roundtable.core.change_history import (
    ChangeHistory,
    DraftAuthors,
    HunkHistory,
    decode_session_hunk_choice,
    newest_session_candidates,
)
from roundtable.core.changeset import (
    NO_NEWLINE_MARK,
    CreateFile,
    DeleteFile,
    EditFile,
    Hunk,
    Operation,
    PutSymbol,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.decide.trial_outcome import (
    decide_reason_for_unverified_candidate,
    is_tried_candidate_unverified,
)
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckOutcome,
    Contribution,
)
from roundtable.core.events import ChangeUndone, GateAnswered
from roundtable.core.refusals import Refusal
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.session import Session
from roundtable.core.text.sanitize import reveal_hidden_characters, sanitize_line
from roundtable.core.text.wording import join_text_lines, pluralize
from roundtable.core.values import Digest
from roundtable.report.candidate_words import candidate_reason_sentence
from roundtable.report.change_reasons import change_write_remark_sentence
from roundtable.report.refusals import refusal_sentence

CANDIDATE_COLUMNS = ("Candidate", "Checks", "Tests", "Equal to", "Result")
CHECK_COLUMNS = ("Check", "Before", "After")
TAKEN_PART_COLUMNS = ("File", "Part", "From")
_REQUEST_LENGTH = 60
"""Largest number of characters of the task or decision named as the reason for a hunk."""


def describe_draft_doubt(session: Session, draft: Digest, author: str) -> str:
    """A sentence if nothing verified the draft; without a result for the draft, of its author's candidate."""
    result = newest_session_candidates(session)
    if result is None:
        return str(session.charter.settings.get("doubt", ""))
    matches = [candidate for candidate in result.candidates if candidate.draft == draft] or [
        candidate for candidate in result.candidates if candidate.seat == author
    ]
    doubt = decide_reason_for_unverified_candidate(matches[0]) if matches else None
    return candidate_reason_sentence(doubt) if doubt else ""


def describe_gate_answer_text(answer: GateAnswered) -> str:
    """The person's text of an answer; a choice of hunks in words."""
    choice = decode_session_hunk_choice(answer)
    hunks_by_change = {"left out": choice.rejected, "rewritten": tuple(choice.edited)}
    return "; ".join(f"{change} {', '.join(ids)}" for change, ids in hunks_by_change.items() if ids) or answer.text


def describe_hunk_request_origin(session: Session, asked_by: str, length: int = _REQUEST_LENGTH) -> str:
    """The origin of the request for a hunk: the task or decision in its own words, or the name of a claim."""
    charter = session.charter
    source, position = (str(charter.settings.get(name, "")) for name in ("of", "position"))
    if not asked_by or asked_by not in (source, charter.slug):
        return asked_by
    decided = "" if charter.settings.get("task_only") else position
    words = sanitize_line((decided or charter.question).strip().partition("\n")[0], length)
    return f"the {'decision' if source and decided else 'task'} “{words}”"


def describe_hunk_provenance(session: Session, past: HunkHistory) -> str:
    """The origin of a hunk, such as `requested by the task “Log in”, written by gpt, taken (anna)`."""
    request = describe_hunk_request_origin(session, past.hunk.asked_by)
    words = [f"requested by {request}" if request else "not requested"]
    words += [f"written by {' and '.join(past.wrote)}"] if past.wrote else []
    words += [f"{past.state} ({past.by})" if past.by else past.state] if past.state else []
    return ", ".join(words)


def render_hunk_provenance(hunk: Hunk, session: Session, authors: DraftAuthors) -> list[str]:
    """The origin of a hunk in full, one line each: the request, the writers, and the parts taken from other seats."""
    request = describe_hunk_request_origin(session, hunk.asked_by, length=0)
    writers = " and ".join(authors.of(hunk.path))
    parts = [part for part in authors.took if part.path == hunk.path]
    return [
        f"Requested by {request}." if request else "Neither the task nor a claim requested this change.",
        f"Written by {writers}." if writers else "The author is unknown.",
        *(f"{part.symbol or 'The whole file'} was taken from {part.seat}." for part in parts),
    ]


def render_hunk_lines(hunk: Hunk) -> list[str]:
    """The lines of a hunk as in a diff. Control characters are spelled out, but not line endings used in every line."""
    lines = [f"{sign}{line}" for sign, side in hunk.sides for line in side]
    crlf = all(line.endswith("\r") for line in lines if line[1:] != NO_NEWLINE_MARK)
    return [reveal_hidden_characters(line.removesuffix("\r") if crlf else line) for line in lines]


def describe_hunk_place(hunk: Hunk) -> str:
    """The part of its file that a hunk changes."""
    if hunk.whole:
        return hunk.whole
    return f"line {hunk.first}" if hunk.is_text else "its name" if hunk.is_rename else "its mode"


def describe_applied_change(applied: ChangeApplied) -> Iterator[str]:
    """Lines about a written change: its files, its commit, and how to undo it."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f", commit {applied.commit[:12]}{where}" if applied.commit else where
    yield f"Written{commit}: {', '.join(applied.files)}."
    if applied.left:
        yield f"Files that changed on disk during the write were not written: {', '.join(applied.left)}."
    yield from map(change_write_remark_sentence, applied.remarks)
    yield f"Undo it with: roundtable undo {applied.undo}"


def describe_change_outcome(change: ChangeHistory) -> Iterator[str]:
    """Whether a change was written, undone or neither."""
    if change.applied is None:
        yield "Nothing was written."
        return
    *written, back = describe_applied_change(change.applied)
    yield from written
    yield _describe_undone_change(change.undone) if change.undone else back


def _describe_undone_change(undone: ChangeUndone) -> str:
    """A sentence saying that a change was undone."""
    by = f" by {undone.by}" if undone.by else ""
    return f"Change {undone.change} was undone{by}: {', '.join(undone.files)}. {undone.how}".strip()


def describe_change_plan(plan: ChangePlanned) -> Iterator[str]:
    """The plan in short: files and hunks, unrequested changes, refusals and losses."""
    yield from render_diffstat(plan.hunks)
    for id in plan.unasked:
        yield f"Neither the task nor a claim requested {id}."
    for test in plan.tests:
        yield f"The change alters the existing test {test}."
    for refusal in plan.refused:
        yield describe_change_refusal("Not written", refusal)
    for loss in plan.destroys:
        yield f"Needs your confirmation: {loss.rstrip('.')}."


def render_diffstat(hunks: Sequence[Hunk]) -> Iterator[str]:
    """One line per file: new, deleted or changed, with the number of hunks and lines."""
    for path in dict.fromkeys(hunk.path for hunk in hunks):
        file_hunks = [hunk for hunk in hunks if hunk.path == path]
        text_hunks = [hunk for hunk in file_hunks if hunk.is_text]
        added = sum(_count_text_lines(hunk.after) for hunk in text_hunks)
        removed = sum(_count_text_lines(hunk.before) for hunk in text_hunks)
        summary = next((hunk.whole for hunk in file_hunks if hunk.whole), "") or pluralize(len(file_hunks), "hunk")
        counts = [
            f"+{added}" if added or summary != "deleted" else "",
            f"-{removed}" if removed or summary != "new file" else "",
        ]
        yield f"{path}: {summary}, {' '.join(filter(None, counts))}"


def _count_text_lines(side: Sequence[str]) -> int:
    return sum(line != NO_NEWLINE_MARK for line in side)


def describe_change_refusal(label: str, refusal: Refusal) -> str:
    """A refusal such as `Refused: .env (It may hold a secret).`; without a file, only the reason."""
    reason = join_text_lines(refusal_sentence(refusal)).rstrip(".")
    return f"{label}: {join_text_lines(refusal.path)} ({reason})." if refusal.path else f"{label}: {reason}."


def render_candidate_table_rows(result: CandidatesTried) -> list[tuple[str, ...]]:
    """A row per candidate under CANDIDATE_COLUMNS, best first."""
    return [_candidate_row(candidate, result.candidates) for candidate in result.candidates]


def _candidate_row(candidate: Candidate, others: Sequence[Candidate]) -> tuple[str, ...]:
    equal = [other.seat for other in others if other.cluster == candidate.cluster and other is not candidate]
    equal_words = ", ".join(equal) or "nobody" if candidate.cluster else "–"
    return (
        candidate.seat,
        _passed_share(outcome.passed for outcome in candidate.checks),
        _passed_share(candidate.tests.values()),
        equal_words,
        _candidate_result(candidate),
    )


def _candidate_result(candidate: Candidate) -> str:
    if candidate.refused or not candidate.draft:
        return "refused"
    if not candidate.checks:
        return "unchecked"
    if is_tried_candidate_unverified(candidate):
        return "in doubt"
    return "passed" if candidate.passed else "failed"


def _passed_share(passed: Iterable[bool]) -> str:
    ended = list(passed)
    return f"{sum(ended)} of {len(ended)}" if ended else "–"


def render_check_result_table_rows(rehearsed: ChangeRehearsed) -> list[tuple[str, ...]]:
    """A row for each check of a rehearsal, with its result before and after the change (CHECK_COLUMNS)."""
    before = {check.name: check for check in rehearsed.before}
    return [(check.name, _check_state(before.get(check.name)), _check_state(check)) for check in rehearsed.checks]


def _check_state(outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return "–"
    if outcome.limit is not None:
        return f"stopped ({outcome.limit})"
    return "passed" if outcome.passed else "stopped" if outcome.code is None else f"failed ({outcome.code})"


def render_taken_part_rows(took: Iterable[Contribution]) -> list[tuple[str, ...]]:
    """A row per part under TAKEN_PART_COLUMNS."""
    return [(part.path, part.symbol or "whole file", part.seat) for part in took]


def describe_proposed_files(reply: str) -> list[str]:
    """One line per file that a reply wants to write; none if the reply cannot be read."""
    try:
        return list(dict.fromkeys(map(_describe_operation, parse_reply_file_changes(reply).operations)))
    except UnreadableReply:
        return []


def _describe_operation(operation: Operation) -> str:
    match operation:
        case CreateFile() | ReplaceFile():
            return f"{operation.path}: whole file, +{_count_lines(operation.text)}"
        case PutSymbol():
            return f"{operation.path}: {operation.symbol}, +{_count_lines(operation.text)}"
        case EditFile():
            added = sum(_count_lines(block.replace) for block in operation.blocks)
            removed = sum(_count_lines(block.search) for block in operation.blocks)
            return f"{operation.path}: +{added} -{removed}"
        case DeleteFile():
            return f"{operation.path}: deleted"
        case RenameFile():
            return f"{operation.path}: renamed to {operation.to}"


def _count_lines(text: str) -> int:
    return len(text.splitlines())
