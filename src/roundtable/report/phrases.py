"""The sentences every view says about a session, in plain text: each view escapes them in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from roundtable.core.events import MoveMade, NoteSaid, RoundOpened
from roundtable.core.faults import Fault
from roundtable.core.replies import read_reply
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import Charter, Decision, Dissent, Expect, NextStep, Outcome
from roundtable.core.verdict import SEVERITIES, Issue, Stance, Verdict
from roundtable.report.status import INTERRUPTED, LATE, turn_state

COST_COLUMNS = ("Calls", "Failed", "Tokens in", "Cached", "Tokens out", "Cost")
EXCERPT_LENGTH = 2000
"""How many characters of an answer that never ended a document shows."""
PROPOSAL_COLUMNS = ("Proposal", "First from")
_SOUGHT = {"changes": "file", "changes-in-parts": "file", "findings": "finding", "proofs": "proof"}
"""What is looked for in the replies of a codec, where that is more than an answer."""

NEXT_STEP_WORDS: dict[str, str] = {
    NextStep.APPLY: "to be carried out, with `roundtable apply`",
    NextStep.APPLIED: "it is carried out",
    NextStep.DELIVERED: "it is handed over",
    NextStep.MYSELF: "a person does it by hand",
    NextStep.LATER: "it is left for later",
    NextStep.REJECT: "it is rejected, and later meetings are told why",
    NextStep.REPORT: "a report only",
    NextStep.LOG: "it is logged for later",
    NextStep.STOP: "it stops here",
}
"""What becomes of a decision, whoever it was that said so, and whether or not anybody did."""


def vote_counts_by_heading(decision: Decision) -> dict[str, dict[str, int]]:
    """The counts there are, each under its heading; not every meeting votes blind."""
    counts = {"Blind vote": decision.blind_vote, "Final": decision.tally}
    return {head: count for head, count in counts.items() if count}


def proposals_heading(decision: Decision) -> str:
    """The heading above what was on the table: not every meeting votes on it."""
    return "Votes" if vote_counts_by_heading(decision) else "Proposals"


def describe_counted_seats(decision: Decision) -> str:
    """`counted 2 of 3`."""
    return f"counted {len(decision.counted)} of {len(decision.electorate)}"


def degraded_heading(decision: Decision) -> str:
    """What stands above the notices: how many were counted, in meetings that count."""
    if not decision.electorate:
        return "DEGRADED: read this first."
    return f"DEGRADED: {describe_counted_seats(decision)}{'' if decision.missing else ', but read this first'}."


def is_compiled_text(decision: Decision) -> bool:
    """Whether its text is nobody's own: it quotes everybody, so that votes and minority would only say it again."""
    return bool(decision.text and not decision.author)


def describe_outcome(decision: Decision) -> str:
    """The outcome for people; opinions that were only collected are in no deadlock."""
    differ = is_compiled_text(decision) and len(decision.proposals) > 1 and not decision.is_decided
    return "they differ" if differ else decision.outcome


def describe_next_step(decision: Decision) -> str:
    """What becomes of it; nothing where nothing was said of that, or the meeting was broken off."""
    if not decision.next_step or decision.outcome is Outcome.CANCELLED:
        return ""
    return f"What next: {NEXT_STEP_WORDS.get(decision.next_step, decision.next_step)}."


def describe_fault(fault: Fault) -> str:
    """What happened and what a person can do."""
    return f"{fault.kind.replace('_', ' ')}: {fault.message} {fault.help}".rstrip()


def format_opening_time(session: Session) -> str:
    """When it began, to the minute."""
    return f"{session.opened_at[:16].replace('T', ' ')} UTC"


def describe_session_context(charter: Charter) -> list[str]:
    """What the seats were told of earlier meetings, and which files and texts they were shown; a line each."""
    told = [f"{it.id} ({it.kind})" for it in charter.recalled]
    shown = [item.name for item in charter.context]
    lines = {"Told of earlier meetings": told, "Shown as context": shown}
    return [f"{what} ({len(names)}): {', '.join(names)}" for what, names in lines.items() if names]


def describe_round_result(record: RoundRecord) -> str:
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


def describe_turn(turn: Turn) -> str:
    """What stands beside a seat's name: how it answered, or that it did not."""
    made, state = turn.move, turn_state(turn)
    if made is None:
        return state
    said = made.verdict
    words = ["late, not counted"] if state == LATE else []
    words += [f"via {made.voice}", f"{made.timing.total:.1f} s"]
    words += [f"{said.confidence:.0%} sure"] if said.confidence is not None else []
    words += [] if said.counts else ["could not be read"]
    return " · ".join(words)


def explain_unread_reply(made: MoveMade, expect: Expect) -> str:
    """That a reply does not count, and why it could not be read, where that can be said."""
    sought = _SOUGHT.get(expect.codec, "answer")
    why = read_reply(expect, made.raw or made.text, structured=False).why
    return f"No {sought} could be read from this reply, so it does not count{f': {why}' if why else '.'}"


def parse_offered_proposals(round: RoundOpened) -> dict[str, str]:
    """The proposals a round was read, by every name they can be chosen by."""
    offers = (line.partition(": ") for line in round.prompt.lists.get("proposals", ()))
    return {name: text for names, _, text in offers for name in re.split(r", | and ", names)}


def describe_position(said: Verdict, known: Mapping[str, str] = {}) -> str:
    """A seat's position in one line; where it chose a proposal, its id and what that says."""
    words = known.get(said.target, said.position)
    return f"{said.target} ({words})" if said.target and words else said.target or words


def describe_reasons(said: Verdict) -> str:
    """The error a seat names in its earlier answer and the facts it leans on."""
    cited = [f"{it.text} ({it.source})" if it.source else it.text for it in said.evidence]
    return "; ".join(filter(None, (said.error, *cited)))


def describe_verdict_details(said: Verdict) -> str:
    """What a seat said besides its words: a score, a ranking, a root cause, points it agrees on, what stands open.

    What it proves is told only where it is not told as an open issue already.
    """
    parts = [f"scores {said.score * 10:g} of 10"] if said.score is not None else []
    parts += [f"ranks {' > '.join(said.ranking)}"] if said.ranking else []
    parts += [f"root cause: {said.key}"] if said.key else []
    parts += [f"agrees on: {', '.join(said.points)}"] if said.points and said.score is not None else []
    blocking, other = _issue_words(said)
    parts += [f"{blocking if it.blocking else other}: {_issue(it)}" for it in said.issues]
    open = {it.text for it in said.issues}
    parts += [f"claims, with a program: {it.text}" for it in said.claims if it.text not in open]
    words = "; ".join(parts)
    return words[:1].upper() + words[1:]


def _issue(it: Issue) -> str:
    """What is wrong, how bad it is and where, as far as that was said."""
    more = ", ".join(filter(None, (it.severity, it.location)))
    return f"{it.text} ({more})" if more else it.text


def _issue_words(said: Verdict) -> tuple[str, str]:
    """What issues are called, blocking ones and others: beside a score, as risks of a position, as objections; and in
    a review, where all have a severity, as findings."""
    if said.score is not None:
        return "blocked by", "open"
    if said.position:
        return "risk to be settled first", "risk"
    review = said.stance is Stance.UNKNOWN and all(it.severity in SEVERITIES for it in said.issues)
    return ("finds", "finds") if review else ("objects", "open")


def dissent_argument(dissent: Dissent) -> str:
    """What a minority says beyond its position, which may be the beginning of it or all of it."""
    return dissent.text.strip().removeprefix(dissent.position).strip()


def decision_text_heading(author: str) -> str:
    """What stands above the text of a decision; `author` as the view shows a seat, empty where code put it together."""
    return f"In the words of {author}:" if author else "What they said, put together in their own words:"


def dissent_heading(decision: Decision) -> str:
    """The heading above what the seats say that did not win; where nothing won, that is all of them."""
    return "Minority report" if decision.is_decided else "What the seats stand for"


def describe_ratings(said: Verdict) -> str:
    """A ballot in one line."""
    return ", ".join(f"{id} {word}" for id, word in said.ratings.items())


def displayed_reply_text(made: MoveMade) -> str:
    """A seat's words; a ballot that is nothing but a ballot has none."""
    bare = made.verdict.ratings and made.text.lstrip().startswith(("{", "```"))
    return "" if bare else made.text


def partial_answer_heading(turn: Turn) -> str:
    """What stands above the words of an answer that never ended."""
    return "Cut off in mid-answer:" if turn_state(turn) == INTERRUPTED else "What it had said before it failed:"


def excerpt_partial_answer(text: str, most: int = EXCERPT_LENGTH) -> str:
    """The first words of an answer that never ended, and how long it was; the record keeps the whole of it."""
    return text if len(text) <= most else f"{text[:most].rstrip()}… ({len(text):,} characters)"


def last_voice_by_seat(session: Session) -> dict[str, str]:
    """The voice each seat was heard through last."""
    turns = [turn for record in session.rounds.values() for turn in record.turns.values()]
    return {turn.seat: turn.move.voice for turn in turns if turn.move is not None}


def describe_substitutions(session: Session) -> list[str]:
    """Who was heard through another voice than its first, and who came to share one model by that."""
    decision = session.decision
    if decision is None:
        return []
    voices = {seat: voice for seat, voice in last_voice_by_seat(session).items() if seat in decision.counted}
    moved = dict.fromkeys(it.voice for it in decision.substitutions if voices.get(it.seat) == it.voice)
    shared = {voice: [seat for seat, other in voices.items() if other == voice] for voice in moved}
    return [it.sentence for it in decision.substitutions] + [
        f"{', '.join(seats[:-1])} and {seats[-1]} spoke through the same model, {voice}."
        for voice, seats in shared.items()
        if len(seats) > 1
    ]


def describe_shared_voice(session: Session) -> str:
    """That all who were counted spoke through one voice, which easily agrees with itself; else nothing."""
    decision = session.decision
    seats = decision.counted if decision and not decision.substitutions else ()
    voices = {voice for seat, voice in last_voice_by_seat(session).items() if seat in seats}
    return f"All {len(seats)} spoke through one voice, {voices.pop()}." if len(seats) > 1 and len(voices) == 1 else ""


def rounds_and_notes_in_order(session: Session) -> Iterator[NoteSaid | RoundRecord]:
    """Rounds, and between them what people said to the table."""
    notes = list(session.notes)
    for record in session.rounds.values():
        while notes and notes[0][0] < record.seq:
            yield notes.pop(0)[1]
        yield record
    for _, note in notes:
        yield note


def describe_session_changes(session: Session) -> list[str]:
    """What people changed on the way, and the bounds that were met, one line each."""
    lines = [f"File added: {item.name} ({item.size:,} bytes)" for _, item in session.context_added]
    lines += [f"File taken away: {name}" for _, name in session.context_removed]
    lines += [f"Seat switched off: {name}" for name in sorted(session.seats_off)]
    lines += [f"Renamed to {session.name}"] if session.name != session.charter.name else []
    lines += ["Limits changed"] if any(it.limits is not None for _, it in session.amendments) else []
    lines += [f"{it.round} was not held: {it.words}" for it in session.limit_stops.values()]
    if session.cancel is not None:
        reason = f": {session.cancel.reason}" if session.cancel.reason else ""
        lines.append(f"Cancelled by {session.cancel.by or 'a person'}{reason}")
    return lines
