"""What a session leaves behind for later ones: the entries that its facts come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.effects import ApplyChange, ChangeApplied
from roundtable.core.faults import Fault
from roundtable.core.ledger import NO_REASON, Entry, EntryKind, EntryState
from roundtable.core.session import Session
from roundtable.core.stages import charter_stages
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import make_answer_standalone
from roundtable.core.values import Decision, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report.stage_words import list_stage_ends

LONGEST_ENTRY_TEXT = 500
"""Characters of a text or a reason; the whole of it stays in the session."""

CODE_RED = "code-red"
REVIEW = "review"
"""It speaks of the changes as they were; the next one, of what became of them, is to know nothing of it."""

WRITING_MEETINGS = ("build", "apply")
"""What they come to is what they wrote: a dry run, a no at the gate or a failed candidate decided nothing."""

REPORT_ONLY = "report"
"""What a person chooses who wants no entry in the error log."""

_TOLD = (Outcome.REACHED, Outcome.REJECTED, Outcome.TIE, Outcome.DEADLOCK)


def derive_memory_entries(session: Session) -> tuple[Entry, ...]:
    """Everything to remember of one session, with what people wrote over it since."""
    found = {entry.id: entry for entry in _folded(session)}
    return tuple({**found, **session.entries}.values())


def short_session_suffix(session: str) -> str:
    """Six digits of the part of a session's id that is chance."""
    return session.replace("-", "")[-6:]


def _folded(session: Session) -> Iterator[Entry]:
    decision = session.decision
    if decision is None or decision.outcome not in _TOLD or _under_another(session):
        return
    if session.charter.meeting == REVIEW:
        return
    if session.charter.meeting in WRITING_MEETINGS and not _stands(session):
        yield from _not_applied(session, decision)
        return
    if session.charter.meeting == CODE_RED:
        yield from _error(session, decision)
        return
    decrees = _decrees(session, decision)
    state = EntryState.OVERRULED if decrees else str(decision.outcome)
    for number, text in enumerate(_decided(session, decision), 1):
        yield _entry(session, "D", EntryKind.DECISION, text, number=number, why=decision.how, state=state)
    yield from decrees
    if decision.outcome is Outcome.REACHED and not decrees:
        told = [(it.seat, words) for it in decision.dissent if (words := it.prediction or _foretold(session, it.seat))]
        for number, (seat, words) in enumerate(told, 1):
            yield _prediction(session, decision, seat, words, number)


def _under_another(session: Session) -> bool:
    """A meeting held as a part of another: what it came to is the other's to tell."""
    return bool(session.charter.parent) and not session.charter.branched_at


def _entry(session: Session, letter: str, kind: EntryKind, text: str, *, number: int = 1, **more: str) -> Entry:
    id = f"{letter}-{short_session_suffix(session.id)}" + (f"-{number}" if number > 1 else "")
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


def _decided(session: Session, decision: Decision) -> Sequence[str]:
    """What a session decided: one thing, or what each of its stages agreed on."""
    if not decision.is_decided:
        return (_undecided(decision),)
    return _agreed_in_stages(session) or (_substance(decision),)


def _agreed_in_stages(session: Session) -> Sequence[str]:
    """What stages agreed on in words; where none was for words, what the others came to."""
    ends = [it for it in list_stage_ends(session) if it.text and it.how != "failed"]
    in_words = {it.name for it in charter_stages(session.charter) if it.kind == "discussion"}
    chosen = [it for it in ends if it.stage in in_words] or ends
    return [f"{it.stage}: {it.text}" for it in chosen]


def _substance(decision: Decision) -> str:
    """What was decided, in one line: the position, else the winner's own words, else all that was rejected."""
    texts = {proposal.id: proposal.text for proposal in decision.proposals}
    rejected = "; ".join(texts.values()) if decision.outcome is Outcome.REJECTED else ""
    own = decision.position or texts.get(decision.winner, "") or decision.text.strip().partition("\n")[0]
    return own or rejected


def _undecided(decision: Decision) -> str:
    """What stood against each other in the end."""
    proposed = " | ".join(proposal.text for proposal in decision.proposals)
    return f"No decision: {proposed}" if proposed else f"No decision ({decision.outcome})."


def _decrees(session: Session, decision: Decision) -> Sequence[Entry]:
    """The person's own no, where the meeting asked what to do with its result."""
    rejections = [
        answer
        for gate, answer in session.answers.items()
        if (gate == "decide" or gate.startswith("decide-")) and answer.option == "reject"
    ]
    text = make_answer_standalone(session.charter.question, _substance(decision))
    return [
        _entry(
            session, "R", EntryKind.DECREE, text, number=number, why=answer.text or NO_REASON, state=EntryState.STANDING
        )
        for number, answer in enumerate(rejections, 1)
    ]


def _error(session: Session, decision: Decision) -> Iterator[Entry]:
    """An error gets its number where it is filed; until a person has chosen, it is logged."""
    answer = session.answers.get("outcome")
    if answer is not None and answer.option == REPORT_ONLY:
        return
    text = decision.position or decision.winner or f"Not diagnosed: {session.charter.question}"
    found = decision.text.strip().partition("\n")[0] if decision.outcome is Outcome.REACHED else ""
    state = EntryState.FIXING if answer is not None and answer.option == "fix" else EntryState.LOGGED
    entry = _entry(session, "CR", EntryKind.ERROR, text, why=found or decision.how, state=state)
    yield msgspec.structs.replace(entry, id="")


def _stands(session: Session) -> bool:
    """Whether what it decided was written, and not taken back since."""
    return any(isinstance(it, ChangeApplied) and it.undo not in session.undone for it in session.results.values())


def _not_applied(session: Session, decision: Decision) -> Iterator[Entry]:
    """What was approved and could not be written is an error to look into."""
    for step, result in session.results.items():
        if isinstance(result, Fault) and isinstance(session.effects.get(step), ApplyChange):
            text = f"Could not be applied: {_substance(decision)}"
            entry = _entry(session, "CR", EntryKind.ERROR, text, why=result.message, state=EntryState.LOGGED)
            yield msgspec.structs.replace(entry, id="")


def _prediction(session: Session, decision: Decision, seat: str, foretold: str, number: int) -> Entry:
    """Dissent is worth keeping where time can tell who was right: that a position lost is no prediction."""
    against = f"Held against D-{short_session_suffix(session.id)}: {_substance(decision)}"
    return _entry(
        session, "P", EntryKind.PREDICTION, foretold, number=number, why=against, state=EntryState.OPEN, seat=seat
    )


def _foretold(session: Session, seat: str) -> str:
    """What the seat last said should be looked at to tell, or its last objection; one that blocks comes first."""
    turns = [record.turns[seat] for record in session.rounds.values() if seat in record.turns]
    said = next((turn.move.verdict for turn in reversed(turns) if turn.move is not None), Verdict())
    issues = sorted(said.issues, key=lambda issue: not issue.blocking)
    return said.next_test or next((issue.text for issue in issues), "")
