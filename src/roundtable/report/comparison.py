"""Two sessions side by side: what became of each stage, of the files and of the decision, and what each line cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Literal

from roundtable.core.changeset import Draft
from roundtable.core.session import Session
from roundtable.core.stages import StageEnd
from roundtable.core.text.sanitize import reveal_hidden_characters
from roundtable.core.values import Digest, Value
from roundtable.report.costs import summarize_costs
from roundtable.report.phrases import describe_outcome
from roundtable.report.stage_words import list_stage_ends

DifferenceState = Literal["same", "changed", "only in the first", "only in the second"]
LARGEST_COMPARED_FILE = 400_000
"""Characters of a file beyond which it is only said that it differs."""


class ComparedSession(Value, frozen=True):
    """One of both sessions."""

    session: str
    slug: str
    question: str
    outcome: str
    rounds: int
    tokens: int
    cost: str


class SessionDifference(Value, frozen=True):
    """A stage, a file or the decision in both sessions; `diff` says how the second differs from the first."""

    name: str
    state: DifferenceState
    first: str = ""
    second: str = ""
    diff: tuple[str, ...] = ()


class SessionComparison(Value, frozen=True):
    """Both sessions. `shared` is how many facts one has from the other."""

    first: ComparedSession
    second: ComparedSession
    shared: int
    stages: tuple[SessionDifference, ...]
    decision: SessionDifference | None
    files: tuple[SessionDifference, ...]


ProjectFiles = Mapping[str, bytes | None]
"""What stands in the files of a project; None where a file was taken away."""


DraftsByDigest = Mapping[Digest, Draft]
"""What was drafted, by its name."""


def compare_sessions(
    first: Session, second: Session, files: tuple[ProjectFiles, ProjectFiles], drafts: DraftsByDigest
) -> SessionComparison:
    """What is the same in both, what is not, and how it differs."""
    return SessionComparison(
        _side(first),
        _side(second),
        _shared(first, second),
        tuple(_stages(first, second, drafts)),
        _decision(first, second),
        tuple(_files(*files)),
    )


def _side(session: Session) -> ComparedSession:
    total = summarize_costs(session).total
    ended = describe_outcome(session.decision) if session.decision else session.status
    charter = session.charter
    return ComparedSession(
        session.id, charter.slug, charter.question, ended, len(session.rounds), session.spent.tokens, total.price
    )


def _shared(first: Session, second: Session) -> int:
    if second.charter.parent == first.id:
        return second.charter.branched_at
    return first.charter.branched_at if first.charter.parent == second.id else 0


def _stages(first: Session, second: Session, drafts: DraftsByDigest) -> Iterator[SessionDifference]:
    ours = {it.stage: it for it in list_stage_ends(first)}
    theirs = {it.stage: it for it in list_stage_ends(second)}
    for stage in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(stage), theirs.get(stage)
        said, then = one.text if one else "", other.text if other else ""
        state = _state(one and _substance(one, drafts), other and _substance(other, drafts))
        yield SessionDifference(stage, state, _how(one), _how(other), _diff(stage, said, then))


def _substance(end: StageEnd, drafts: DraftsByDigest) -> object:
    """What a stage came to, whichever session it was held in: how, in which words, with which files."""
    files = {it.path: (it.after, it.executable) for it in drafts[end.draft].files} if end.draft else {}
    return _how(end), end.text, files


def _how(end: StageEnd | None) -> str:
    if end is None:
        return ""
    attempt = f", attempt {end.attempt}" if end.attempt > 1 else ""
    return f"{end.how}{f' ({end.judge} judged)' if end.judge else ''}{attempt}"


def _decision(first: Session, second: Session) -> SessionDifference | None:
    """What both came to in the end; where there are stages, they tell it."""
    if list_stage_ends(first) or list_stage_ends(second) or not (first.decision or second.decision):
        return None
    one, other = first.decision, second.decision
    said, then = one.text if one else "", other.text if other else ""
    return SessionDifference(
        "decision",
        _state(one and (one.position, one.text), other and (other.position, other.text)),
        one.position if one else "",
        other.position if other else "",
        _diff("decision", said, then),
    )


def _files(ours: ProjectFiles, theirs: ProjectFiles) -> Iterator[SessionDifference]:
    for path in sorted({*ours, *theirs}):
        one, other = ours.get(path), theirs.get(path)
        if one != other:
            yield SessionDifference(path, _state(one, other), diff=_file_diff(path, one, other))


def _state(one: object, other: object) -> DifferenceState:
    if one is None or other is None:
        return "only in the second" if one is None else "only in the first"
    return "same" if one == other else "changed"


def _file_diff(path: str, one: bytes | None, other: bytes | None) -> tuple[str, ...]:
    try:
        said, then = (one or b"").decode(), (other or b"").decode()
    except UnicodeDecodeError:
        return ("(not text)",)
    return ("(too long to be shown)",) if len(said) + len(then) > LARGEST_COMPARED_FILE else _diff(path, said, then)


def _diff(name: str, said: str, then: str) -> tuple[str, ...]:
    lines = unified_diff(said.splitlines(), then.splitlines(), f"first/{name}", f"second/{name}", lineterm="")
    return tuple(map(reveal_hidden_characters, lines))
