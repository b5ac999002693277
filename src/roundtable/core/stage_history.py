"""The attempts at each stage of a project: the authors of its files, its checks, and the person who approved it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from roundtable.core.changeset import Draft, FileChange
from roundtable.core.effects import (
    CandidatesTried,
    ChangeRehearsed,
    CheckOutcome,
    EffectResult,
    MergeTried,
    ProjectRan,
    StageEnded,
)
from roundtable.core.events import AnswerSource, EffectDone, Recorded
from roundtable.core.session import Session
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import Contribution, StageEnd
from roundtable.core.values import Digest, Gate

R = TypeVar("R", bound=EffectResult)


class StageAttempt(NamedTuple):
    """One attempt at a stage: the prefix of its rounds and steps, its end and the time."""

    name: str
    end: StageEnd
    at: str


class StageCandidate(NamedTuple):
    """The files that one seat wrote in an attempt, before merging."""

    name: str
    seat: str
    draft: Digest


def session_stage_attempts(records: Iterable[Recorded]) -> tuple[StageAttempt, ...]:
    """Every attempt at every stage, in order."""
    return tuple(
        StageAttempt(StageAddress.of_step(record.event.step).name, record.event.result.end, record.at)
        for record in records
        if isinstance(record.event, EffectDone) and isinstance(record.event.result, StageEnded)
    )


def session_final_stage_attempts(attempts: Sequence[StageAttempt]) -> tuple[StageAttempt, ...]:
    """The last attempt at each stage, in stage order."""
    last = StageEnd.last_attempts(attempt.end for attempt in attempts)
    return tuple(attempt for attempt in attempts if attempt.end in last)


def session_attempt_results(session: Session, attempt: str, kind: type[R]) -> tuple[R, ...]:
    """The results of one type in an attempt, in order."""
    address = StageAddress.parse(attempt)
    results = [result for step, result in session.results.items() if address.includes(step)]
    return tuple(result for result in results if isinstance(result, kind))


def session_attempt_gates(session: Session, attempt: str) -> list[Gate]:
    """The gates in an attempt and directly after it; without a matching attempt, the gates after the last stage."""
    gates: list[Gate] = []
    for id, gate in session.gates.items():
        gates.append(gate)
        if id == StageAddress.parse(attempt).gate_after:
            break
        if gate.is_after_stage:
            gates.clear()
    return gates


def session_stage_candidates(session: Session, attempt: str) -> tuple[StageCandidate, ...]:
    """The last candidate of each seat in an attempt."""
    tried = session_attempt_results(session, attempt, CandidatesTried)
    wrote = {candidate.seat: candidate.draft for result in tried for candidate in result.candidates if candidate.draft}
    return tuple(StageCandidate(f"{attempt}/{seat}", seat, draft) for seat, draft in wrote.items())


def session_attempt_checks(session: Session, attempt: StageAttempt) -> tuple[CheckOutcome, ...]:
    """The last checks of the result of an attempt: the program run, or else the checks of this draft."""
    name, draft = attempt.name, attempt.end.draft
    if ran := session_attempt_results(session, name, ProjectRan):
        return ran[-1].steps
    tried = [
        candidate
        for result in session_attempt_results(session, name, CandidatesTried)
        for candidate in result.candidates
    ]
    merged = (tried.candidate for tried in session_attempt_results(session, name, MergeTried))
    candidates = [
        candidate
        for candidate in (*tried, *merged, *session_attempt_results(session, name, ChangeRehearsed))
        if draft and candidate.draft == draft
    ]
    return candidates[-1].checks if candidates else ()


def session_attempt_approver(session: Session, attempt: str) -> str:
    """The person who approved an attempt; empty without approval."""
    answer = session.answers.get(StageAddress.parse(attempt).gate_after)
    if answer is None or answer.by_default:
        return ""
    return f"{session.charter.owner} (in advance)" if answer.source is AnswerSource.ADVANCE else answer.by


def session_stage_contributors(*ends: StageEnd) -> tuple[str, ...]:
    """The seats whose work is in the files of these stages, base seats first."""
    seats = (seat for end in ends for seat in (end.base, *(part.seat for part in end.took)))
    return tuple(dict.fromkeys(filter(None, seats)))


FileChangeKind = Literal["new", "changed", "deleted"]


class StageFileChange(NamedTuple):
    """The effect of one stage on a file. `took` lists the parts that other seats wrote."""

    path: str
    kind: FileChangeKind
    base: str
    took: tuple[Contribution, ...] = ()
    digest: Digest = ""


def session_stage_file_changes(before: Draft, after: Draft, end: StageEnd) -> tuple[StageFileChange, ...]:
    """The files that a stage changed, from the drafts before and after it."""
    old_files, new_files = _files_by_path(before), _files_by_path(after)
    changes: list[StageFileChange] = []
    for path in sorted({*old_files, *new_files}):
        old, new = old_files.get(path), new_files.get(path)
        if old == new:
            continue
        took = tuple(part for part in end.took if part.path == path)
        whole = next((part.seat for part in took if not part.symbol), "")
        parts = tuple(part for part in took if part.symbol)
        changes.append(
            StageFileChange(path, _file_change_kind(old, new), whole or end.base, parts, new.after if new else "")
        )
    return tuple(changes)


def _files_by_path(draft: Draft) -> Mapping[str, FileChange]:
    return {file.path: file for file in draft.files}


def _file_change_kind(old: FileChange | None, new: FileChange | None) -> FileChangeKind:
    if new is None or not new.after:
        return "deleted"
    return "changed" if (old.after if old else new.before) else "new"


def session_stage_ends(session: Session) -> tuple[StageEnd, ...]:
    """The end of the last attempt at each stage, in stage order."""
    return StageEnd.last_attempts(result.end for result in session.results.values() if isinstance(result, StageEnded))
