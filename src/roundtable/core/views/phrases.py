"""The sentences every view says about a session, in plain text: each view escapes them in its own way."""

from __future__ import annotations

from collections.abc import Iterator

from roundtable.core.events import MoveMade, NoteSaid
from roundtable.core.faults import Fault
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import Decision
from roundtable.core.verdict import Verdict
from roundtable.core.views.states import INTERRUPTED, LATE, turn_state

COST_HEAD = ("Calls", "Failed", "Tokens in", "Cached", "Tokens out", "Cost")
GLIMPSE = 2000
"""How many characters of an answer that never ended a document shows."""
PROPOSAL_HEAD = ("Proposal", "First from")


def votes(decision: Decision) -> dict[str, dict[str, int]]:
    """The counts there are, each under its heading; not every meeting votes blind."""
    counts = {"Blind vote": decision.blind_vote, "Final": decision.tally}
    return {head: count for head, count in counts.items() if count}


def counted(decision: Decision) -> str:
    """`counted 2 of 3`."""
    return f"counted {len(decision.counted)} of {len(decision.electorate)}"


def fault_line(fault: Fault) -> str:
    """What happened and what a person can do."""
    return f"{fault.kind.replace('_', ' ')}: {fault.message} {fault.help}".rstrip()


def opened(session: Session) -> str:
    """When it began, to the minute."""
    return f"{session.opened_at[:16].replace('T', ' ')} UTC"


def heard(record: RoundRecord) -> str:
    """How a round went."""
    closed = record.closed
    if closed is None:
        return "still open"
    unread = [seat for seat in closed.counted if (made := record.turns[seat].move) and not made.verdict.counts]
    words = [f"counted {len(closed.counted) - len(unread)} of {len(record.opened.electorate)}"]
    words += [f"could not read {', '.join(unread)}"] if unread else []
    words += [] if closed.how == "all" else [f"closed by {closed.how}"]
    words += [] if closed.quorate else ["not enough for the quorum"]
    return ", ".join(words)


def marks(turn: Turn) -> str:
    """What stands beside a seat's name: how it answered, or that it did not."""
    made, state = turn.move, turn_state(turn)
    if made is None:
        return state
    said = made.verdict
    words = ["late, not counted"] if state == LATE else []
    words += [f"via {made.voice}", f"{made.timing.total:.1f} s"]
    words += [f"{said.confidence:.0%} sure"] if said.confidence is not None else []
    words += [] if said.counts else ["could not be read as a vote"]
    return " · ".join(words)


def stands_for(said: Verdict) -> str:
    """A seat's position in one line, with the proposal's id where it chose one."""
    return ": ".join(filter(None, (said.target, said.position)))


def because(said: Verdict) -> str:
    """The error a seat names in its earlier answer and the facts it leans on."""
    cited = [f"{it.text} ({it.source})" if it.source else it.text for it in said.evidence]
    return "; ".join(filter(None, (said.error, *cited)))


def weighs(said: Verdict) -> str:
    """What a seat gave besides its words: a score, a ranking, a root cause, points it agrees with, open issues."""
    parts = [f"{said.score * 10:g} of 10"] if said.score is not None else []
    parts += [" > ".join(said.ranking)] if said.ranking else []
    parts += [f"root cause {said.key}"] if said.key else []
    parts += [f"agrees with {'; '.join(said.points)}"] if said.points and said.score is not None else []
    parts += [f"{'blocked by' if it.blocking else 'open'}: {it.text}" for it in said.issues]
    return ", ".join(parts)


def whose_words(author: str) -> str:
    """What stands above the text of a decision; `author` as the view shows a seat, empty where code put it together."""
    return f"In the words of {author}:" if author else "What they said, put together in their own words:"


def minority(decision: Decision) -> str:
    """The heading above what the seats say that did not win; where nothing won, that is all of them."""
    return "Minority report" if decision.settled else "What the seats stand for"


def rates(said: Verdict) -> str:
    """A ballot in one line."""
    return ", ".join(f"{id} {word}" for id, word in said.ratings.items())


def speech(made: MoveMade) -> str:
    """A seat's words; a ballot that is nothing but a ballot has none."""
    bare = made.verdict.ratings and made.text.lstrip().startswith(("{", "```"))
    return "" if bare else made.text


def kept(turn: Turn) -> str:
    """What stands above the words of an answer that never ended."""
    return "Cut off in mid-answer:" if turn_state(turn) == INTERRUPTED else "What it had said before it failed:"


def glimpse(text: str, most: int = GLIMPSE) -> str:
    """The first words of an answer that never ended, and how long it was; the record keeps the whole of it."""
    return text if len(text) <= most else f"{text[:most].rstrip()}… ({len(text):,} characters)"


def spoke_through(session: Session) -> dict[str, str]:
    """The voice each seat was heard through last."""
    turns = [turn for record in session.rounds.values() for turn in record.turns.values()]
    return {turn.seat: turn.move.voice for turn in turns if turn.move is not None}


def substitutions(session: Session) -> list[str]:
    """Who was heard through another voice than its first, and who came to share one model by that."""
    decision = session.decision
    if decision is None:
        return []
    heard = {seat: voice for seat, voice in spoke_through(session).items() if seat in decision.counted}
    moved = dict.fromkeys(it.voice for it in decision.substitutions if heard.get(it.seat) == it.voice)
    shared = {voice: [seat for seat, other in heard.items() if other == voice] for voice in moved}
    return [it.sentence for it in decision.substitutions] + [
        f"{', '.join(seats[:-1])} and {seats[-1]} spoke through the same model, {voice}."
        for voice, seats in shared.items()
        if len(seats) > 1
    ]


def in_order(session: Session) -> Iterator[NoteSaid | RoundRecord]:
    """Rounds, and between them what people said to the table."""
    notes = list(session.notes)
    for record in session.rounds.values():
        while notes and notes[0][0] < record.seq:
            yield notes.pop(0)[1]
        yield record
    for _, note in notes:
        yield note


def changes(session: Session) -> list[str]:
    """What people changed on the way, and the bounds that were met, one line each."""
    lines = [f"File added: {item.name} ({item.size:,} bytes)" for _, item in session.context_added]
    lines += [f"File taken away: {name}" for _, name in session.context_removed]
    lines += [f"Seat switched off: {name}" for name in sorted(session.off)]
    lines += [f"Renamed to {session.name}"] if session.name != session.charter.name else []
    lines += ["Limits changed"] if any(it.limits is not None for _, it in session.amendments) else []
    lines += [f"{it.round} was not held: {it.words}" for it in session.limit_stops.values()]
    if session.cancel is not None:
        reason = f": {session.cancel.reason}" if session.cancel.reason else ""
        lines.append(f"Cancelled by {session.cancel.by or 'a person'}{reason}")
    return lines
