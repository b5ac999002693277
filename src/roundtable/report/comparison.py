"""Compare two sessions: their stages, files, decisions and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Literal

from roundtable.core.changeset import Draft
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.text.sanitize import reveal_hidden_characters
from roundtable.core.values import Digest, Value
from roundtable.report.costs import build_cost_report
from roundtable.report.phrases import describe_decision_outcome

DifferenceState = Literal["same", "changed", "only in the first", "only in the second"]
_LARGEST_COMPARED_FILE = 400_000
"""Largest size in characters of which a diff is shown."""


class ComparedSession(Value, frozen=True):
    """One of the two sessions."""

    session: str
    slug: str
    question: str
    outcome: str
    rounds: int
    tokens: int
    cost: str


class SessionDifference(Value, frozen=True):
    """A stage, a file or the decision in both sessions; `diff` goes from the first to the second."""

    name: str
    state: DifferenceState
    first: str = ""
    second: str = ""
    diff: tuple[str, ...] = ()


class SessionComparison(Value, frozen=True):
    """Both sessions. `shared` is how many events one took over from the other when it branched."""

    first: ComparedSession
    second: ComparedSession
    shared: int
    stages: tuple[SessionDifference, ...]
    decision: SessionDifference | None
    files: tuple[SessionDifference, ...]


ProjectFiles = Mapping[str, bytes | None]
"""The content of each file of a project; None if the file was deleted."""


DraftsByDigest = Mapping[Digest, Draft]
"""Drafts by their digest."""


def build_session_comparison_report(
    first: Session, second: Session, files: tuple[ProjectFiles, ProjectFiles], drafts: DraftsByDigest
) -> SessionComparison:
    """Compare two sessions stage by stage and file by file."""
    return SessionComparison(
        _summarize_side(first),
        _summarize_side(second),
        _shared_events(first, second),
        tuple(_compare_stages(first, second, drafts)),
        _compare_decisions(first, second),
        tuple(_compare_files(*files)),
    )


def _summarize_side(session: Session) -> ComparedSession:
    total = build_cost_report(session).total
    ended = describe_decision_outcome(session.decision) if session.decision else session.status
    charter = session.charter
    return ComparedSession(
        session.id, charter.slug, charter.question, ended, len(session.rounds), session.spent.tokens, total.price
    )


def _shared_events(first: Session, second: Session) -> int:
    if second.charter.parent == first.id:
        return second.charter.branched_at
    return first.charter.branched_at if first.charter.parent == second.id else 0


def _compare_stages(first: Session, second: Session, drafts: DraftsByDigest) -> Iterator[SessionDifference]:
    first_ends = {end.stage: end for end in session_stage_ends(first)}
    second_ends = {end.stage: end for end in session_stage_ends(second)}
    for stage in dict.fromkeys((*first_ends, *second_ends)):
        before, after = first_ends.get(stage), second_ends.get(stage)
        old, new = before.text if before else "", after.text if after else ""
        state = _difference_state(before and _stage_result(before, drafts), after and _stage_result(after, drafts))
        yield SessionDifference(
            stage, state, _stage_outcome(before), _stage_outcome(after), _diff_texts(stage, old, new)
        )


def _stage_result(end: StageEnd, drafts: DraftsByDigest) -> object:
    """Everything that makes the result of a stage, independent of the session: outcome, text and files."""
    files = {file.path: (file.after, file.executable) for file in drafts[end.draft].files} if end.draft else {}
    return _stage_outcome(end), end.text, files


def _stage_outcome(end: StageEnd | None) -> str:
    if end is None:
        return ""
    attempt = f", attempt {end.attempt}" if end.attempt > 1 else ""
    return f"{end.how}{f' ({end.judge} judged)' if end.judge else ''}{attempt}"


def _compare_decisions(first: Session, second: Session) -> SessionDifference | None:
    """The difference of the decisions; None for meetings in stages, whose stages are compared instead."""
    if session_stage_ends(first) or session_stage_ends(second) or not (first.decision or second.decision):
        return None
    before, after = first.decision, second.decision
    old, new = before.text if before else "", after.text if after else ""
    return SessionDifference(
        "decision",
        _difference_state(before and (before.position, before.text), after and (after.position, after.text)),
        before.position if before else "",
        after.position if after else "",
        _diff_texts("decision", old, new),
    )


def _compare_files(first_files: ProjectFiles, second_files: ProjectFiles) -> Iterator[SessionDifference]:
    for path in sorted({*first_files, *second_files}):
        before, after = first_files.get(path), second_files.get(path)
        if before != after:
            yield SessionDifference(path, _difference_state(before, after), diff=_diff_files(path, before, after))


def _difference_state(before: object, after: object) -> DifferenceState:
    if before is None or after is None:
        return "only in the second" if before is None else "only in the first"
    return "same" if before == after else "changed"


def _diff_files(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    try:
        old, new = (before or b"").decode(), (after or b"").decode()
    except UnicodeDecodeError:
        return ("(binary file)",)
    return ("(too long to show)",) if len(old) + len(new) > _LARGEST_COMPARED_FILE else _diff_texts(path, old, new)


def _diff_texts(name: str, old: str, new: str) -> tuple[str, ...]:
    lines = unified_diff(old.splitlines(), new.splitlines(), f"first/{name}", f"second/{name}", lineterm="")
    return tuple(map(reveal_hidden_characters, lines))
