"""The decision counted again from the record, at no cost: without a seat, and by other rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from roundtable.core.decide import (
    condorcet_winner,
    instant_runoff_winners,
    rule_key_convergence,
    rule_no_objection,
    rule_ranked_vote,
    rule_score_threshold,
)
from roundtable.core.decide.positions import normalize_position
from roundtable.core.decide.ruling import Ruling, join_names
from roundtable.core.session import Session
from roundtable.core.values import Decision, Outcome, Round
from roundtable.core.verdict import Stance, Verdict
from roundtable.report.agreement_map import STANCE_WORDS, SeatPositions, resolve_proposal_id, trace_seat_positions
from roundtable.report.costs import NO_VALUE, CostLine, summarize_costs

SCORE_THRESHOLDS = (9, 8, 7)

OBJECTION_CODECS = ("agree-object-add", "approval", "score-json")
"""The forms in which a seat can object to what is on the table, not only stand for something else."""


class SeatAbsence(msgspec.Struct, frozen=True):
    """What the meeting's own rules come to without one seat. `changed` is None where the record cannot tell."""

    changed: bool | None
    outcome: str = ""
    winner: str = ""
    position: str = ""
    why: str = ""


class SeatRecount(msgspec.Struct, frozen=True):
    """One seat: how it moved, what it cost, and what its absence would have changed."""

    seat: str
    first: str
    last: str
    moved: bool
    reasoned: bool | None
    conformed: bool
    calls: int
    tokens: int
    cost_usd: float | None
    price: str
    without: SeatAbsence


class RuleRecount(msgspec.Struct, frozen=True):
    """What one rule makes of the same answers; `turns_on` are the seats without whom it would say something else."""

    rule: str
    applies: bool
    outcome: str = ""
    winner: str = ""
    same: bool = False
    turns_on: tuple[str, ...] = ()
    why: str = ""


class Recount(msgspec.Struct, frozen=True):
    """The whole recount beside the decision as it was taken. `texts` are the proposals in words, by id.

    `by_person` is True where a person's answer at a gate named the winner: then no seat's absence changes it.
    """

    session: str
    slug: str
    question: str
    outcome: str
    winner: str
    position: str
    seats: tuple[SeatRecount, ...]
    rules: tuple[RuleRecount, ...]
    texts: dict[str, str] = {}
    by_person: bool = False
    v: int = 1


# --- for people ----------------------------------------------------------------------------------

SEAT_RECOUNT_COLUMNS = ("Seat", "Stood for", "Moved", "Tokens", "Cost", "Without it")
RULE_RECOUNT_COLUMNS = ("Rule", "Outcome", "Winner", "Turns on", "Why")


def seat_recount_rows(recount: Recount) -> list[tuple[str, ...]]:
    """What each seat did, cost and changed."""
    return [
        (it.seat, _stood(it), _moved(it), f"{it.tokens:,}", it.price, describe_seat_absence(recount, it.without))
        for it in recount.seats
    ]


def rule_recount_rows(recount: Recount) -> list[tuple[str, ...]]:
    """What each rule that can be applied says."""
    return [
        (it.rule, it.outcome, it.winner or NO_VALUE, join_names(it.turns_on) or "nobody", it.why)
        for it in recount.rules
        if it.applies
    ]


def describe_seat_absence(recount: Recount, without: SeatAbsence) -> str:
    """What the absence of a seat would have changed, in a few words."""
    if without.changed is None:
        return f"cannot be told: {without.why}"
    if not without.changed:
        return "the same: the person chose" if recount.by_person else "the same"
    if without.outcome != recount.outcome:
        return f"{without.outcome} instead of {recount.outcome}"
    return f"{without.winner or NO_VALUE} instead of {recount.winner or NO_VALUE}"


def _stood(seat: SeatRecount) -> str:
    return f"{seat.first} → {seat.last}" if seat.first != seat.last else seat.first or NO_VALUE


def _moved(seat: SeatRecount) -> str:
    if not seat.first:
        return "not heard"
    if not seat.moved:
        return "held"
    if seat.conformed:
        return "without evidence"
    return "for a reason" if seat.reasoned else "yes"


# --- without a seat ------------------------------------------------------------------------------


def compare_decision_without_seat(decision: Decision, other: Decision, without: str) -> SeatAbsence:
    """How the meeting without a seat compares with the meeting as it was."""
    changed = decision.outcome is not other.outcome or not _same_winner(decision, other, without)
    return SeatAbsence(changed, str(other.outcome), other.winner, other.position, other.how)


def _same_winner(decision: Decision, other: Decision, without: str) -> bool:
    """A proposal may be called after another author once its first one is gone; its other authors are still its own."""
    if decision.winner == other.winner or not decision.is_decided:
        return True
    authors = {it.id: set(it.authors) - {without} for it in decision.proposals}.get(decision.winner, set[str]())
    others = {it.id: set(it.authors) for it in other.proposals}.get(other.winner, set[str]())
    return bool(authors & others) or (normalize_position(decision.position) == normalize_position(other.position) != "")


# --- the whole -----------------------------------------------------------------------------------


def recount_decision(session: Session, absences: Mapping[str, SeatAbsence]) -> Recount:
    """Everything there is to tell of a session that has its decision; `absences` come from replaying its meeting."""
    decision = session.decision
    assert decision is not None
    ways = trace_seat_positions(session)
    bills = {line.name: line for line in summarize_costs(session).seats}
    return Recount(
        session.id,
        session.charter.slug,
        session.charter.question,
        str(decision.outcome),
        decision.winner,
        decision.position,
        tuple(
            _seat(
                ways.get(seat.name, SeatPositions(seat.name, "", "")), bills[seat.name], absences[seat.name], decision
            )
            for seat in session.charter.seats
        ),
        tuple(_rules(session, decision, ways)),
        {it.id: it.text for it in decision.proposals},
        bool(decision.winner) and any(said.option == decision.winner for said in session.answers.values()),
    )


def _seat(way: SeatPositions, bill: CostLine, without: SeatAbsence, decision: Decision) -> SeatRecount:
    conformed = way.seat in decision.conformity or way.reasoned is False
    moved = way.moved or way.seat in decision.conformity
    told = (bill.calls, bill.tokens, bill.cost_usd, bill.price)
    return SeatRecount(way.seat, way.first, way.last, moved, way.reasoned, conformed, *told, without)


# --- by other rules ------------------------------------------------------------------------------

RuleOverSeats = Callable[[Sequence[str]], Ruling]
"""A rule over the record, asked of these seats alone."""


def _rules(session: Session, decision: Decision, ways: Mapping[str, SeatPositions]) -> Iterator[RuleRecount]:
    seats = tuple(seat.name for seat in session.charter.seats)
    for name, count in _counts(session, ways).items():
        if count is None:
            yield RuleRecount(name, False, why="No answer of this meeting has what it counts.")
            continue
        ruling = count(seats)
        result = (ruling.outcome, ruling.winner)
        winner = resolve_proposal_id(ruling.winner, decision.proposals)
        without = {seat: count([it for it in seats if it != seat]) for seat in seats}
        yield RuleRecount(
            name,
            True,
            str(ruling.outcome),
            winner,
            ruling.outcome is decision.outcome and winner in ("", decision.winner),
            tuple(seat for seat, it in without.items() if (it.outcome, it.winner) != result),
            ruling.why,
        )


def _counts(session: Session, ways: Mapping[str, SeatPositions]) -> dict[str, RuleOverSeats | None]:
    """Every rule by the name people read; None where the answers have nothing that it could count."""
    scored = _last(session, lambda said: said.score is not None)
    stanced = _last(session, lambda said: said.stance is not Stance.UNKNOWN, OBJECTION_CODECS)
    keyed = _last(session, lambda said: bool(said.key))
    ballot = _last(session, lambda said: bool(said.ranking))
    blind = all(it.opened.turns.visibility != "same_round" for it in list(session.rounds.values())[:1])
    votes: dict[str, RuleOverSeats | None] = {
        "blind vote" if blind else "first positions": _plurality({seat: way.first for seat, way in ways.items()}),
        "majority of last positions": _majority({seat: way.last for seat, way in ways.items()}),
    }
    for least in SCORE_THRESHOLDS:
        votes[f"every score at least {least}"] = _on(scored, rule_score_threshold, minimum=least)
    votes |= {
        "no open issue at all, every score at least 9": _on(scored, rule_score_threshold, pending_blocks="any"),
        "no objection, a majority for it": _on(stanced, rule_no_objection),
        "no objection, all for it": _on(stanced, rule_no_objection, support="all"),
        "two sure seats name the same cause": _on(keyed, rule_key_convergence),
        "ranked: one against one, then elimination": _ballots(ballot, rule_ranked_vote),
        "ranked: one against one only": _ballots(ballot, _condorcet),
        "ranked: elimination only": _ballots(ballot, _elimination),
        "first choices only": _ballots(ballot, _first_choices),
    }
    return votes


def _last(session: Session, has: Callable[[Verdict], bool], forms: Sequence[str] = ()) -> Round | None:
    """The last round that was closed and in which somebody's answer, in one of these forms, has what a rule counts."""
    for record in reversed(session.rounds.values()):
        if record.closed is not None and (not forms or record.opened.expect.codec in forms):
            round = record.result(record.closed)
            if any(move.verdict.counts and has(move.verdict) for move in round.moves):
                return round
    return None


def _on(round: Round | None, rule: Callable[..., Ruling], **settings: object) -> RuleOverSeats | None:
    if round is None:
        return None

    def count(seats: Sequence[str]) -> Ruling:
        electorate = [seat for seat in round.electorate if seat in seats]
        return rule([move for move in round.moves if move.seat in electorate], electorate, **settings)

    return count


def _ballots(
    round: Round | None, rule: Callable[[dict[str, tuple[str, ...]], Sequence[str]], Ruling]
) -> RuleOverSeats | None:
    if round is None:
        return None
    given = {move.seat: move.verdict.ranking for move in round.moves if move.verdict.counts and move.verdict.ranking}
    candidates = tuple(dict.fromkeys(name for ballot in given.values() for name in ballot))
    return lambda seats: rule({seat: ballot for seat, ballot in given.items() if seat in seats}, candidates)


def _condorcet(ballots: dict[str, tuple[str, ...]], candidates: Sequence[str]) -> Ruling:
    winner = condorcet_winner(ballots, candidates)
    if winner:
        return Ruling(Outcome.REACHED, winner, why=f"{winner} beats every other candidate one against one.")
    return Ruling(Outcome.DEADLOCK, why="Nobody beats every other candidate one against one.")


def _elimination(ballots: dict[str, tuple[str, ...]], candidates: Sequence[str]) -> Ruling:
    winners = instant_runoff_winners(ballots, candidates) if ballots else ()
    if len(winners) == 1:
        return Ruling(Outcome.REACHED, winners[0], why=f"{winners[0]} is left when the last are taken away in turn.")
    return Ruling(Outcome.TIE, why=f"{join_names(winners)} are tied." if winners else "There is no ballot.")


def _first_choices(ballots: dict[str, tuple[str, ...]], _: Sequence[str]) -> Ruling:
    return _most({seat: ballot[0] for seat, ballot in ballots.items()})


def _plurality(votes: Mapping[str, str]) -> RuleOverSeats | None:
    return (lambda seats: _most({it: vote for it, vote in votes.items() if it in seats})) if votes else None


def _majority(votes: Mapping[str, str]) -> RuleOverSeats | None:
    return (lambda seats: _half({it: vote for it, vote in votes.items() if it in seats})) if votes else None


def _most(votes: Mapping[str, str]) -> Ruling:
    """Whatever has the most votes, unless something else has as many."""
    tally = Counter(votes.values()).most_common()
    ahead = [name for name, count in tally if count == tally[0][1]]
    if not ahead:
        return Ruling(Outcome.INSUFFICIENT, why="Nobody said where it stands.")
    words = f"{tally[0][1]} of {len(votes)} seats"
    if len(ahead) > 1:
        return Ruling(Outcome.TIE, why=f"{words} each: {join_names(ahead)}.")
    if ahead[0] in STANCE_WORDS.values():
        agreed = ahead[0] == STANCE_WORDS[Stance.SUPPORT]
        return Ruling(Outcome.REACHED if agreed else Outcome.DEADLOCK, why=f"{words}: {ahead[0]}.")
    return Ruling(Outcome.REACHED, ahead[0], why=f"{words}.")


def _half(votes: Mapping[str, str]) -> Ruling:
    """The same, if it is more than half."""
    most = _most(votes)
    behind = max(Counter(votes.values()).values(), default=0)
    if most.reached and behind * 2 <= len(votes):
        return Ruling(Outcome.DEADLOCK, why=f"{behind} of {len(votes)} seats is not more than half.")
    return most
