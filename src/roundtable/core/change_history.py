"""The history of a file change: the origin of each hunk, the person's decision about it, and the written files."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeVar

import msgspec

from roundtable.core.changeset import Hunk, HunkChoice
from roundtable.core.effects import (
    ApplyChange,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    Contribution,
    DraftMove,
    DraftsSynthesised,
    MergeTried,
    MoveDrafted,
    PlanChange,
    RehearseChange,
    StageEnded,
    SynthesiseDrafts,
    TryMerged,
)
from roundtable.core.events import ChangeUndone, GateAnswered
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.text.sanitize import reveal_hidden_characters
from roundtable.core.values import Digest, Gate

R = TypeVar("R")


class HunkState(StrEnum):
    """The person's decision about a hunk, in the words that people and `--json` see."""

    UNDECIDED = ""
    ACCEPTED = "taken"
    REWRITTEN = "rewritten"
    REJECTED = "left out"


class HunkHistory(NamedTuple):
    """A hunk with its writers and the person's decision about it."""

    hunk: Hunk
    wrote: tuple[str, ...]
    state: HunkState = HunkState.UNDECIDED
    by: str = ""
    rewritten: tuple[str, ...] = ()


class ChangeHistory(NamedTuple):
    """The progress of a change: plan, history of each hunk, rehearsal, and the result of writing or undoing it."""

    planned: ChangePlanned
    hunks: tuple[HunkHistory, ...]
    took: tuple[Contribution, ...] = ()
    rehearsed: ChangeRehearsed | None = None
    applied: ChangeApplied | None = None
    undone: ChangeUndone | None = None

    def approved_hunks(self) -> list[Hunk]:
        """The approved hunks, with the person's lines where they were rewritten, under the final file names."""
        kept_paths = {
            past.hunk.path: past.hunk.before[0]
            for past in self.hunks
            if past.state is HunkState.REJECTED and past.hunk.is_rename
        }
        return [
            msgspec.structs.replace(
                past.hunk,
                path=kept_paths.get(past.hunk.path, past.hunk.path),
                after=tuple(line[1:] for line in past.rewritten)
                if past.state is HunkState.REWRITTEN
                else past.hunk.after,
            )
            for past in self.hunks
            if past.state in (HunkState.ACCEPTED, HunkState.REWRITTEN)
        ]


class DraftAuthors(NamedTuple):
    """The authors of a draft, and the parts taken from others."""

    seats: tuple[str, ...] = ()
    took: tuple[Contribution, ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """The seats that wrote the content of a file."""
        return tuple(dict.fromkeys((*self.seats, *(part.seat for part in self.took if part.path == path))))


def is_session_approval_gate(gate: Gate) -> bool:
    """Whether a gate asks for approval of the hunks of a plan."""
    return gate.writes and "some" in gate.options


def is_session_confirmation_gate(gate: Gate) -> bool:
    """Whether a gate asks for a typed phrase because the change is dangerous."""
    return gate.writes and "confirm" in gate.options


def newest_session_change_plan(session: Session) -> tuple[Digest, ChangePlanned] | None:
    """The newest plan and the digest of its draft."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        if isinstance(result, ChangePlanned) and isinstance(effect, PlanChange):
            return effect.draft, result
    return None


def newest_session_change(session: Session) -> ChangeHistory | None:
    """The history of the change that was planned last; None if the session planned nothing."""
    newest = newest_session_change_plan(session)
    if newest is None:
        return None
    draft, plan = newest
    answer = _approval_answer(session)
    authors = session_draft_authors(session, draft)
    hunks = tuple(_hunk_history(hunk, authors.of(hunk.path), answer) for hunk in plan.hunks)
    applied = _newest_result(session, ChangeApplied)
    undone = session.undone.get(applied.undo) if applied else None
    return ChangeHistory(plan, hunks, authors.took, _newest_result(session, ChangeRehearsed), applied, undone)


def newest_session_candidates(session: Session) -> CandidatesTried | None:
    """The candidates with the results of their last run."""
    return _newest_result(session, CandidatesTried)


def session_confirmation_phrase(session: Session) -> str:
    """The phrase to type if the newest rehearsal would lose something permanently; otherwise empty."""
    rehearsed = _newest_result(session, ChangeRehearsed)
    return rehearsed.phrase if rehearsed else ""


def decode_session_hunk_choice(answer: GateAnswered) -> HunkChoice:
    """The hunks that an answer rejects or rewrites; none if its text is not a choice."""
    try:
        return msgspec.json.decode(answer.text, type=HunkChoice) if answer.option == "some" else HunkChoice()
    except msgspec.MsgspecError:
        return HunkChoice()


def session_draft_authors(session: Session, draft: Digest) -> DraftAuthors:
    """The authors of a draft, found by following the steps that made it."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        match effect, result:
            case DraftMove(), MoveDrafted() if result.draft == draft:
                before = (
                    session_draft_authors(session, effect.over) if effect.over not in ("", draft) else DraftAuthors()
                )
                return DraftAuthors(tuple(dict.fromkeys((*before.seats, effect.seat))), before.took)
            case SynthesiseDrafts(), DraftsSynthesised() if result.draft == draft:
                return DraftAuthors((effect.base,), result.took)
            case TryMerged(), MergeTried() if result.candidate.draft == draft and effect.draft != draft:
                return session_draft_authors(session, effect.draft)
            case RehearseChange(), ChangeRehearsed() if result.draft == draft and effect.draft != draft:
                return session_draft_authors(session, effect.draft)
            case _, StageEnded() if draft and result.end.draft == draft:
                return DraftAuthors(
                    took=tuple(dict.fromkeys(part for end in session_stage_ends(session) for part in end.took))
                )
            case _, CandidatesTried():
                if writers := [candidate.seat for candidate in result.candidates if candidate.draft == draft]:
                    return DraftAuthors((writers[0],))
            case _:
                pass
    return _authors_in_charter(session, draft)


def encode_session_draft_authors(session: Session, draft: Digest) -> str:
    """The authors of a draft as JSON, for the session that carries it out; empty without authors."""
    authors = session_draft_authors(session, draft)
    return msgspec.json.encode(authors).decode() if any(authors) else ""


def _authors_in_charter(session: Session, draft: Digest) -> DraftAuthors:
    """The authors that an earlier session passed on with its draft."""
    settings = session.charter.settings
    if not draft or settings.get("draft") != draft:
        return DraftAuthors()
    authors = str(settings.get("wrote", ""))
    return msgspec.json.decode(authors, type=DraftAuthors) if authors else DraftAuthors((str(settings.get("by", "")),))


def _hunk_history(hunk: Hunk, writers: tuple[str, ...], answer: GateAnswered | None) -> HunkHistory:
    if answer is None or answer.option == "ask":
        return HunkHistory(hunk, writers)
    choice = decode_session_hunk_choice(answer)
    state = HunkState.REWRITTEN if hunk.id in choice.edited else HunkState.ACCEPTED
    if answer.option == "none" or hunk.id in choice.rejected:
        state = HunkState.REJECTED
    rewritten = tuple(f"+{reveal_hidden_characters(line)}" for line in choice.edited.get(hunk.id, "").splitlines())
    return HunkHistory(hunk, writers, state, answer.by, rewritten)


def _approval_answer(session: Session) -> GateAnswered | None:
    """The answer that approved the written change, or else the last answer to a plan."""
    applying = [effect.gate for effect in session.effects.values() if isinstance(effect, ApplyChange)]
    gates = applying[-1:] or [id for id, gate in session.gates.items() if is_session_approval_gate(gate)]
    return next((session.answers[id] for id in reversed(gates) if id in session.answers), None)


def _newest_result(session: Session, kind: type[R]) -> R | None:
    return next((result for result in reversed(session.results.values()) if isinstance(result, kind)), None)
