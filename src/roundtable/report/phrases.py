"""Sentences about a session that every rendering shares, as plain text: each rendering escapes them itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roundtable.core.events import MoveMade, NoteSaid
from roundtable.core.faults import Fault
from roundtable.core.replies import parse_seat_reply, truncate_long_reply
from roundtable.core.replies.knights import SCORE_CODEC
from roundtable.core.replies.review import FINDINGS_CODEC
from roundtable.core.replies.second_opinion import OPINION_CODEC
from roundtable.core.session import RoundRecord, SeatState, Session, Turn
from roundtable.core.values import Charter, Decision, Dissent, Expect, NextStep, Outcome
from roundtable.core.verdict import Issue, Verdict
from roundtable.report.reasons import describe_reached_limit, substitution_sentence

COST_COLUMNS = ("Calls", "Failed", "Tokens in", "Cached", "Tokens out", "Cost")
_EXCERPT_LENGTH = 2000
"""Largest number of characters of an unfinished answer that a document shows."""
PROPOSAL_COLUMNS = ("Proposal", "First from")
_READ_ITEMS = {"changes": "file", "changes-in-parts": "file", "findings": "finding", "proofs": "proof"}
"""The noun for one item of a reply, by codec, if the reply is not one answer."""
_ISSUE_WORDS = {
    SCORE_CODEC.name: ("blocked by", "open"),
    OPINION_CODEC.name: ("risk to settle first", "risk"),
    FINDINGS_CODEC.name: ("finds", "finds"),
}
"""The words that introduce blocking and other issues in the replies of a codec."""

_NEXT_STEP_WORDS: dict[str, str] = {
    NextStep.APPLY: "carry it out with `roundtable apply`",
    NextStep.APPLIED: "none, it was carried out",
    NextStep.DELIVERED: "none, the project was delivered",
    NextStep.MYSELF: "a person carries it out by hand",
    NextStep.LATER: "decide later",
    NextStep.REJECT: "none, it was rejected; later meetings will see the reason",
    NextStep.REPORT: "none, only a report was requested",
    NextStep.LOG: "logged for later",
    NextStep.STOP: "none, the meeting stopped here",
}
"""The next step of a decision in words."""


def render_vote_counts_by_heading(decision: Decision) -> dict[str, dict[str, int]]:
    """The vote counts by column heading; not every meeting votes blind."""
    counts = {"Blind vote": decision.blind_vote, "Final": decision.tally}
    return {head: count for head, count in counts.items() if count}


def render_proposals_heading(decision: Decision) -> str:
    """The heading above the proposals; not every meeting votes."""
    return "Votes" if render_vote_counts_by_heading(decision) else "Proposals"


def describe_counted_seats(decision: Decision) -> str:
    """How many seats were counted, such as `counted 2 of 3`."""
    return f"counted {len(decision.counted)} of {len(decision.electorate)}"


def render_degraded_decision_heading(decision: Decision) -> str:
    """The warning above the notices of a degraded decision."""
    if not decision.electorate:
        return "DEGRADED: read the notices first."
    return f"DEGRADED: {describe_counted_seats(decision)}{'' if decision.missing else '; read the notices'}."


def describe_decision_outcome(decision: Decision) -> str:
    """The outcome in words; collected opinions that differ are not called a deadlock."""
    differ = decision.is_compiled and len(decision.proposals) > 1 and not decision.is_decided
    return "opinions differ" if differ else decision.outcome


def describe_next_step(decision: Decision) -> str:
    """The next step as a sentence; empty if none was stated or the meeting was cancelled."""
    if not decision.next_step or decision.outcome is Outcome.CANCELLED:
        return ""
    return f"Next step: {_NEXT_STEP_WORDS.get(decision.next_step, decision.next_step)}."


def describe_fault(fault: Fault) -> str:
    """A fault as text: its kind, its message and its help."""
    return f"{fault.kind.replace('_', ' ')}: {fault.message} {fault.help}".rstrip()


def describe_session_status(session: Session) -> str:
    """A short phrase that explains the one-word status."""
    if session.decision is not None:
        undone = ", its change was undone" if session.undone else ""
        return f"ended{undone}" if session.ended else "decided, not closed yet"
    if session.open_gates:
        return f"waiting for an answer to gate {', '.join(gate.id for gate in session.open_gates)}"
    if session.cancel is not None:
        return "being cancelled"
    if session.paused:
        return "paused on request"
    if session.stopped is not None:
        return f"stopped ({session.stopped.reason}), can be resumed"
    return "not finished" if session.runs else "not started"


def describe_session_opening_time(session: Session) -> str:
    """The time at which the session was opened, to the minute."""
    return f"{session.opened_at[:16].replace('T', ' ')} UTC"


def describe_session_context(charter: Charter) -> list[str]:
    """The earlier meetings and the files that the seats were shown, one line each."""
    recalled = [f"{entry.id} ({entry.kind})" for entry in charter.recalled]
    context = [item.name for item in charter.context]
    lines = {"From earlier meetings": recalled, "Files and texts": context}
    return [f"{heading} ({len(names)}): {', '.join(names)}" for heading, names in lines.items() if names]


def describe_round_result(record: RoundRecord) -> str:
    """How many replies of a round counted, and how it was closed."""
    closed = record.closed
    if closed is None:
        return "still open"
    unread = [seat for seat in closed.counted if (move := record.turns[seat].move) and not move.verdict.counts]
    words = [f"counted {len(closed.counted) - len(unread)} of {len(record.opened.electorate)}"]
    words += [f"could not read {', '.join(unread)}"] if unread else []
    words += [] if closed.how == "all" else [f"closed by {closed.how}"]
    words += [] if closed.quorate else ["quorum not reached"]
    return ", ".join(words)


def describe_turn(turn: Turn) -> str:
    """The label next to a seat's name: voice, time and confidence, or the reason for a missing answer."""
    move, state = turn.move, turn.state
    if move is None:
        return state
    verdict = move.verdict
    words = ["late, not counted"] if state is SeatState.LATE else []
    words += [f"via {move.voice}", f"{move.timing.total:.1f} s"]
    words += [f"{verdict.confidence:.0%} sure"] if verdict.confidence is not None else []
    words += [] if verdict.counts else ["unreadable"]
    return " · ".join(words)


def describe_unread_reply(move: MoveMade, expect: Expect) -> str:
    """A sentence saying that a reply does not count and, if known, why it could not be read."""
    item = _READ_ITEMS.get(expect.codec, "answer")
    reason = parse_seat_reply(expect, truncate_long_reply(move.raw or move.text), structured=False).why
    return f"This reply does not count because no {item} could be read from it{f': {reason}' if reason else '.'}"


def describe_position(verdict: Verdict, proposals: Mapping[str, str] = {}) -> str:
    """A seat's position in one line; for a chosen proposal its id and text."""
    words = proposals.get(verdict.target, verdict.position)
    return f"{verdict.target} ({words})" if verdict.target and words else verdict.target or words


def describe_verdict_reasons(verdict: Verdict) -> str:
    """The error that a seat names in its earlier answer and the facts it cites."""
    cited = [f"{fact.text} ({fact.source})" if fact.source else fact.text for fact in verdict.evidence]
    return "; ".join(filter(None, (verdict.error, *cited)))


def describe_verdict_details(verdict: Verdict, codec: str) -> str:
    """The score, ranking, root cause, agreed points, issues and claims of a verdict in one line.

    A claim that is also listed as an issue is not repeated.
    """
    parts = [f"scores {verdict.score * 10:g} of 10"] if verdict.score is not None else []
    parts += [f"ranks {' > '.join(verdict.ranking)}"] if verdict.ranking else []
    parts += [f"root cause: {verdict.key}"] if verdict.key else []
    parts += [f"agrees on: {', '.join(verdict.points)}"] if verdict.points and verdict.score is not None else []
    blocking, other = _ISSUE_WORDS.get(codec, ("objects", "open"))
    parts += [f"{blocking if issue.blocking else other}: {_issue(issue)}" for issue in verdict.issues]
    issue_texts = {issue.text for issue in verdict.issues}
    parts += [f"claims, with a program: {claim.text}" for claim in verdict.claims if claim.text not in issue_texts]
    words = "; ".join(parts)
    return words[:1].upper() + words[1:]


def _issue(issue: Issue) -> str:
    """The issue with its severity and location, as far as they are known."""
    more = ", ".join(filter(None, (issue.severity, issue.location)))
    return f"{issue.text} ({more})" if more else issue.text


def render_dissent_argument(dissent: Dissent) -> str:
    """The text of a dissent word for word, without a first line that only repeats the position."""
    text = dissent.text.strip()
    first, _, rest = text.partition("\n")
    return rest.strip() if first.strip() == dissent.position.strip() else text


def render_decision_text_heading(author: str) -> str:
    """The heading above the text of a decision; `author` is a rendered seat name, or empty for compiled text."""
    return f"In the words of {author}:" if author else "Quoted from all seats:"


def render_dissent_heading(decision: Decision) -> str:
    """The heading above the other positions; without a winner these are all positions."""
    return "Minority report" if decision.is_decided else "Positions of the seats"


def describe_ratings(verdict: Verdict) -> str:
    """A ballot of ratings in one line."""
    return ", ".join(f"{id} {word}" for id, word in verdict.ratings.items())


def render_reply_text(move: MoveMade) -> str:
    """The text of a reply to display; empty for a bare ballot."""
    bare = move.verdict.ratings and move.text.lstrip().startswith(("{", "```"))
    return "" if bare else move.text


def render_partial_answer_heading(turn: Turn) -> str:
    """The heading above the text of an unfinished answer."""
    return "Interrupted after:" if turn.state is SeatState.INTERRUPTED else "Text before the failure:"


def render_partial_answer_excerpt(text: str, most: int = _EXCERPT_LENGTH) -> str:
    """The beginning of an unfinished answer and its length; the record keeps the whole."""
    return text if len(text) <= most else f"{text[:most].rstrip()}… ({len(text):,} characters)"


def describe_voice_substitutions(session: Session) -> list[str]:
    """The seats that answered through another than their first voice, and seats that share a model because of it."""
    decision = session.decision
    if decision is None:
        return []
    voices = {seat: voice for seat, voice in session.last_voices.items() if seat in decision.counted}
    substitutes = dict.fromkeys(
        substitution.voice
        for substitution in decision.substitutions
        if voices.get(substitution.seat) == substitution.voice
    )
    shared = {voice: [seat for seat, other in voices.items() if other == voice] for voice in substitutes}
    return list(map(substitution_sentence, decision.substitutions)) + [
        f"{', '.join(seats[:-1])} and {seats[-1]} used the same model, {voice}."
        for voice, seats in shared.items()
        if len(seats) > 1
    ]


def describe_shared_voice(session: Session) -> str:
    """A sentence if all counted seats used the same voice, which easily agrees with itself; otherwise empty."""
    decision = session.decision
    seats = decision.counted if decision and not decision.substitutions else ()
    voices = {voice for seat, voice in session.last_voices.items() if seat in seats}
    return (
        f"All {len(seats)} counted seats used the same voice, {voices.pop()}."
        if len(seats) > 1 and len(voices) == 1
        else ""
    )


def report_rounds_and_notes_in_order(session: Session) -> Iterator[NoteSaid | RoundRecord]:
    """The rounds of a session with the notes of people between them."""
    notes = list(session.notes)
    for record in session.rounds.values():
        while notes and notes[0][0] < record.seq:
            yield notes.pop(0)[1]
        yield record
    for _, note in notes:
        yield note


def describe_session_changes(session: Session) -> list[str]:
    """The changes that people made during the session, and the limits that it reached, one line each."""
    lines = [f"File added: {item.name} ({item.size:,} bytes)" for _, item in session.context_added]
    lines += [f"File removed: {name}" for _, name in session.context_removed]
    lines += [f"Seat switched off: {name}" for name in sorted(session.seats_off)]
    lines += [f"Renamed to {session.name}"] if session.name != session.charter.name else []
    lines += ["Limits changed"] if any(amendment.limits is not None for _, amendment in session.amendments) else []
    lines += [
        f"Round {stop.round} was not held: {describe_reached_limit(stop)}" for stop in session.limit_stops.values()
    ]
    if session.cancel is not None:
        reason = f": {session.cancel.reason}" if session.cancel.reason else ""
        lines.append(f"Cancelled by {session.cancel.by or 'a person'}{reason}")
    return lines
