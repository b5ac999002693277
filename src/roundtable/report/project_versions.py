"""What became of a project stage by stage: every version of it that is kept, whose it is and who said yes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

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
from roundtable.core.events import BY_ADVANCE_ANSWER, EffectDone, Recorded
from roundtable.core.session import Session
from roundtable.core.stages import Contribution, StageEnd, after_stage_gate_id, is_after_stage_gate, last_stage_attempts
from roundtable.core.values import Digest, Gate

R = TypeVar("R", bound=EffectResult)


class StageAttempt(NamedTuple):
    """One attempt at a stage: the name that its rounds and steps begin with, how it ended and when."""

    name: str
    end: StageEnd
    at: str


class StageCandidate(NamedTuple):
    """What one seat wrote in an attempt at a stage, as it was before anything was put together."""

    name: str
    seat: str
    draft: Digest


def list_stage_attempts(records: Iterable[Recorded]) -> tuple[StageAttempt, ...]:
    """Every attempt at every stage, in their order."""
    return tuple(
        StageAttempt(it.event.step.rpartition("/")[0], it.event.result.end, it.at)
        for it in records
        if isinstance(it.event, EffectDone) and isinstance(it.event.result, StageEnded)
    )


def final_stage_attempts(made: Sequence[StageAttempt]) -> tuple[StageAttempt, ...]:
    """The last attempt at each stage, in the order of the stages."""
    last = last_stage_attempts(it.end for it in made)
    return tuple(it for it in made if it.end in last)


def attempt_results(session: Session, attempt: str, kind: type[R]) -> tuple[R, ...]:
    """What came of the steps of one kind in an attempt, in their order."""
    found = [it for step, it in session.results.items() if step.startswith(f"{attempt}/")]
    return tuple(it for it in found if isinstance(it, kind))


def attempt_gates(session: Session, attempt: str) -> list[Gate]:
    """What the person was asked in an attempt and after it; after all of them, where none of that name is over."""
    found: list[Gate] = []
    for id, gate in session.gates.items():
        found.append(gate)
        if id == after_stage_gate_id(attempt):
            break
        if is_after_stage_gate(gate):
            found.clear()
    return found


def list_stage_candidates(session: Session, attempt: str) -> tuple[StageCandidate, ...]:
    """What each seat wrote in an attempt, its last word."""
    tried = attempt_results(session, attempt, CandidatesTried)
    wrote = {it.seat: it.draft for result in tried for it in result.candidates if it.draft}
    return tuple(StageCandidate(f"{attempt}/{seat}", seat, draft) for seat, draft in wrote.items())


def last_attempt_checks(session: Session, attempt: StageAttempt) -> tuple[CheckOutcome, ...]:
    """What was run last of what an attempt came to: the program itself, else the checks of just these files."""
    name, draft = attempt.name, attempt.end.draft
    if ran := attempt_results(session, name, ProjectRan):
        return ran[-1].steps
    tried = [it for result in attempt_results(session, name, CandidatesTried) for it in result.candidates]
    merged = (it.candidate for it in attempt_results(session, name, MergeTried))
    taken = [
        it for it in (*tried, *merged, *attempt_results(session, name, ChangeRehearsed)) if draft and it.draft == draft
    ]
    return taken[-1].checks if taken else ()


def attempt_approver(session: Session, attempt: str) -> str:
    """Who said after an attempt that it goes on; empty where nobody did."""
    said = session.answers.get(after_stage_gate_id(attempt))
    if said is None or said.by_default:
        return ""
    return f"{session.charter.owner} (ahead)" if said.by == BY_ADVANCE_ANSWER else said.by


def stage_contributors(*ends: StageEnd) -> tuple[str, ...]:
    """Whose work the files of these stages are, the base of each first."""
    seats = (seat for end in ends for seat in (end.base, *(it.seat for it in end.took)))
    return tuple(dict.fromkeys(filter(None, seats)))


class StageFileChange(NamedTuple):
    """What one stage did to a file: `became` is new, changed or deleted; `took` what in it came from others."""

    path: str
    became: str
    base: str
    took: tuple[Contribution, ...] = ()
    digest: Digest = ""

    @property
    def words(self) -> str:
        """Who contributed what."""
        parts = [f"{it.symbol} from {it.seat}" if it.symbol else f"from {it.seat}" for it in self.took]
        return ", ".join(filter(None, (self.base, *parts)))


def list_stage_file_changes(before: Draft, after: Draft, end: StageEnd) -> tuple[StageFileChange, ...]:
    """What a stage changed, by the drafts before and after it."""
    was, now = _files(before), _files(after)
    found: list[StageFileChange] = []
    for path in sorted({*was, *now}):
        old, new = was.get(path), now.get(path)
        if old == new:
            continue
        took = tuple(it for it in end.took if it.path == path)
        whole = next((it.seat for it in took if not it.symbol), "")
        parts = tuple(it for it in took if it.symbol)
        found.append(StageFileChange(path, _became(old, new), whole or end.base, parts, new.after if new else ""))
    return tuple(found)


def _files(draft: Draft) -> Mapping[str, FileChange]:
    return {it.path: it for it in draft.files}


def _became(old: FileChange | None, new: FileChange | None) -> str:
    if new is None or not new.after:
        return "deleted"
    return "changed" if (old.after if old else new.before) else "new"
