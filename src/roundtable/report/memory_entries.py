"""The entries that a session adds to the ledger of a workspace: decisions, decrees, errors and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.effects import ApplyChange, ChangeApplied
from roundtable.core.faults import Fault
from roundtable.core.ledger import NO_REASON, Entry, EntryKind, EntryState
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import Stage
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import complete_short_answer_text
from roundtable.core.values import Decision, Gate, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report.reasons import decision_sentence

LONGEST_ENTRY_TEXT = 500
"""Largest number of characters of a text or reason; the session keeps the whole."""

_CODE_RED = "code-red"
REVIEW = "review"
"""Reviews are not remembered: they describe changes as they were, which the next meeting must not take for the present.
"""

_REPORT_ONLY = "report"
"""The option of a person who wants no entry in the error log."""

_REMEMBERED_OUTCOMES = (Outcome.REACHED, Outcome.REJECTED, Outcome.TIE, Outcome.DEADLOCK)


def build_session_memory_entries(session: Session, *, writes_files: bool = False) -> tuple[Entry, ...]:
    """All memory entries of a session, with later changes by people applied.

    A meeting that `writes_files`, and has no stages that agree on words, decides something only if it wrote a change:
    not in a dry run, after a no, or with failed candidates.
    """
    derived = {entry.id: entry for entry in _derive_entries(session, writes_files and not session.charter.has_stages)}
    return tuple({**derived, **session.entries}.values())


def _short_session_suffix(session: str) -> str:
    """The last six digits of a session's id, which are random."""
    return session.replace("-", "")[-6:]


def _derive_entries(session: Session, decides_by_writing: bool) -> Iterator[Entry]:
    decision = session.decision
    if decision is None or decision.outcome not in _REMEMBERED_OUTCOMES or _is_child_meeting(session):
        return
    if session.charter.meeting == REVIEW:
        return
    if decides_by_writing and not _has_standing_change(session):
        yield from _failed_application(session, decision)
        return
    if session.charter.meeting == _CODE_RED:
        yield from _error(session, decision)
        return
    decrees = _decrees(session, decision)
    state = EntryState.OVERRULED if decrees else str(decision.outcome)
    reason = decision_sentence(decision)
    for number, text in enumerate(_decided_texts(session, decision), 1):
        yield _entry(session, "D", EntryKind.DECISION, text, number=number, why=reason, state=state)
    yield from decrees
    if decision.outcome is Outcome.REACHED and not decrees:
        predictions = [
            (dissent.seat, text)
            for dissent in decision.dissent
            if (text := dissent.prediction or _fallback_prediction(session, dissent.seat))
        ]
        for number, (seat, text) in enumerate(predictions, 1):
            yield _prediction(session, decision, seat, text, number)


def _is_child_meeting(session: Session) -> bool:
    """Whether the meeting was part of another, whose entries include its result."""
    return bool(session.charter.parent) and not session.charter.branched_at


def _entry(session: Session, letter: str, kind: EntryKind, text: str, *, number: int = 1, **more: str) -> Entry:
    id = f"{letter}-{_short_session_suffix(session.id)}" + (f"-{number}" if number > 1 else "")
    entry = Entry(
        id,
        kind,
        sanitize_line(text, LONGEST_ENTRY_TEXT),
        question=sanitize_line(session.charter.question, LONGEST_ENTRY_TEXT),
        session=session.id,
        slug=session.charter.slug,
        workspace=session.charter.workspace,
        at=session.decided_at,
    )
    return msgspec.structs.replace(
        entry, **{name: sanitize_line(value, LONGEST_ENTRY_TEXT) for name, value in more.items()}
    )


def _decided_texts(session: Session, decision: Decision) -> Sequence[str]:
    """The decided texts of a session: one position, or the result of each stage."""
    if not decision.is_decided:
        return (_undecided_text(decision),)
    return _agreed_stage_texts(session) or (_decision_text(decision),)


def _agreed_stage_texts(session: Session) -> Sequence[str]:
    """The texts that discussion stages agreed on; without any, the texts of all stages."""
    ends = [end for end in session_stage_ends(session) if end.text and end.how != "failed"]
    discussion_stages = {stage.name for stage in Stage.list_of(session.charter) if stage.kind == "discussion"}
    chosen = [end for end in ends if end.stage in discussion_stages] or ends
    return [f"{end.stage}: {end.text}" for end in chosen]


def _decision_text(decision: Decision) -> str:
    """The decision in one line: the position, the winner's text, or all rejected proposals."""
    texts = {proposal.id: proposal.text for proposal in decision.proposals}
    rejected = "; ".join(texts.values()) if decision.outcome is Outcome.REJECTED else ""
    result = decision.position or texts.get(decision.winner, "") or decision.text.strip().partition("\n")[0]
    return result or rejected


def _undecided_text(decision: Decision) -> str:
    """The proposals that remained when no decision was reached."""
    proposed = " | ".join(proposal.text for proposal in decision.proposals)
    return f"No decision: {proposed}" if proposed else f"No decision ({decision.outcome})."


def _decrees(session: Session, decision: Decision) -> Sequence[Entry]:
    """A decree for each time the person rejected the meeting's result."""
    rejections = [
        answer
        for gate, answer in session.answers.items()
        if _asks_for_decision(session.gates[gate]) and answer.option == "reject"
    ]
    text = complete_short_answer_text(session.charter.question, _decision_text(decision))
    return [
        _entry(
            session, "R", EntryKind.DECREE, text, number=number, why=answer.text or NO_REASON, state=EntryState.STANDING
        )
        for number, answer in enumerate(rejections, 1)
    ]


def _asks_for_decision(gate: Gate) -> bool:
    """Whether a gate asks what to do with the decision; in a meeting of a file, the id of the gate says so."""
    return (gate.kind or gate.id) == "decide"


def _error(session: Session, decision: Decision) -> Iterator[Entry]:
    """The error log entry of a diagnosis. The ledger numbers it; it is logged until a person chooses."""
    answer = session.answers.get("outcome")
    if answer is not None and answer.option == _REPORT_ONLY:
        return
    text = decision.position or decision.winner or f"Not diagnosed: {session.charter.question}"
    cause = decision.text.strip().partition("\n")[0] if decision.outcome is Outcome.REACHED else ""
    state = EntryState.FIXING if answer is not None and answer.option == "fix" else EntryState.LOGGED
    entry = _entry(session, "CR", EntryKind.ERROR, text, why=cause or decision_sentence(decision), state=state)
    yield msgspec.structs.replace(entry, id="")


def _has_standing_change(session: Session) -> bool:
    """Whether the change was written and not undone."""
    return any(
        isinstance(result, ChangeApplied) and result.undo not in session.undone for result in session.results.values()
    )


def _failed_application(session: Session, decision: Decision) -> Iterator[Entry]:
    """An error entry for a change that was approved but could not be written."""
    for step, result in session.results.items():
        if isinstance(result, Fault) and isinstance(session.effects.get(step), ApplyChange):
            text = f"Could not be applied: {_decision_text(decision)}"
            entry = _entry(session, "CR", EntryKind.ERROR, text, why=result.message, state=EntryState.LOGGED)
            yield msgspec.structs.replace(entry, id="")


def _prediction(session: Session, decision: Decision, seat: str, prediction: str, number: int) -> Entry:
    """A prediction entry: only dissent that time can prove right or wrong is remembered."""
    against = f"Predicted against decision D-{_short_session_suffix(session.id)}: {_decision_text(decision)}"
    return _entry(
        session, "P", EntryKind.PREDICTION, prediction, number=number, why=against, state=EntryState.OPEN, seat=seat
    )


def _fallback_prediction(session: Session, seat: str) -> str:
    """The seat's last proposed test, or else its last objection, blocking ones first."""
    turns = [record.turns[seat] for record in session.rounds.values() if seat in record.turns]
    verdict = next((turn.move.verdict for turn in reversed(turns) if turn.move is not None), Verdict())
    issues = sorted(verdict.issues, key=lambda issue: not issue.blocking)
    return verdict.next_test or next((issue.text for issue in issues), "")
