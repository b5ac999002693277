"""Count a recorded decision again, without asking anybody: without one seat, and by other rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from roundtable.core.decide import (
    condorcet_winner,
    instant_runoff_winners,
    rule_no_objection,
    rule_ranked_vote,
    rule_root_cause_convergence,
    rule_score_threshold,
)
from roundtable.core.decide.positions import normalize_counted_position
from roundtable.core.decide.ruling import Ruling
from roundtable.core.decide.seat_positions import (
    STANCE_POSITIONS,
    SeatPositions,
    decide_proposal_named_by_vote,
    seat_positions_up_to_decision,
)
from roundtable.core.reasons import (
    CondorcetWinner,
    LastRemaining,
    MostVotes,
    NoBallots,
    NoCondorcetWinner,
    NoPositions,
    NoVoteMajority,
    VotesTied,
)
from roundtable.core.session import Session
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Decision, Outcome, Round
from roundtable.core.verdict import Stance, Verdict
from roundtable.report.costs import NO_VALUE, CostLine, build_cost_report
from roundtable.report.reasons import decision_sentence, describe_reasons

_SCORE_THRESHOLDS = (9, 8, 7)

_OBJECTION_CODECS = ("agree-object-add", "approval", "score-json")
"""Codecs in which a seat can object to a proposal instead of only supporting another."""


class SeatAbsence(msgspec.Struct, frozen=True):
    """The decision by the meeting's own rules without one seat. `changed` is None if the record cannot tell."""

    changed: bool | None
    outcome: str = ""
    winner: str = ""
    position: str = ""
    why: str = ""


class SeatRecount(msgspec.Struct, frozen=True):
    """One seat: its positions, its cost, and what its absence would have changed."""

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
    """The result of one rule over the same answers. `turns_on` lists seats without which it would differ."""

    rule: str
    applies: bool
    outcome: str = ""
    winner: str = ""
    same: bool = False
    turns_on: tuple[str, ...] = ()
    why: str = ""


class Recount(msgspec.Struct, frozen=True):
    """The recount and the recorded decision. `texts` are the proposals by id.

    `by_person` is True if a person's answer at a gate named the winner: then no absence changes it.
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


# --- tables ---------------------------------------------------------------------------------

SEAT_RECOUNT_COLUMNS = ("Seat", "Position", "Moved", "Tokens", "Cost", "Without this seat")
RULE_RECOUNT_COLUMNS = ("Rule", "Outcome", "Winner", "Depends on", "Why")


def render_seat_recount_rows(recount: Recount) -> list[tuple[str, ...]]:
    """A row per seat under SEAT_RECOUNT_COLUMNS."""
    return [
        (
            seat.seat,
            _position_words(seat),
            _move_words(seat),
            f"{seat.tokens:,}",
            seat.price,
            describe_seat_absence(recount, seat.without),
        )
        for seat in recount.seats
    ]


def render_rule_recount_rows(recount: Recount) -> list[tuple[str, ...]]:
    """A row per applicable rule under RULE_RECOUNT_COLUMNS."""
    return [
        (rule.rule, rule.outcome, rule.winner or NO_VALUE, join_names_as_text(rule.turns_on) or "nobody", rule.why)
        for rule in recount.rules
        if rule.applies
    ]


def describe_seat_absence(recount: Recount, without: SeatAbsence) -> str:
    """The effect of leaving out a seat on the decision, in a few words."""
    if without.changed is None:
        return f"unknown: {without.why}"
    if not without.changed:
        return "no change: the person chose" if recount.by_person else "no change"
    if without.outcome != recount.outcome:
        return f"{without.outcome} instead of {recount.outcome}"
    return f"{without.winner or NO_VALUE} instead of {recount.winner or NO_VALUE}"


def _position_words(seat: SeatRecount) -> str:
    return f"{seat.first} → {seat.last}" if seat.first != seat.last else seat.first or NO_VALUE


def _move_words(seat: SeatRecount) -> str:
    if not seat.first:
        return "no answer"
    if not seat.moved:
        return "no"
    if seat.conformed:
        return "yes, without evidence"
    return "yes, with a reason" if seat.reasoned else "yes"


# --- without a seat ------------------------------------------------------------------------------


def report_decision_without_seat(decision: Decision, other: Decision, without: str) -> SeatAbsence:
    """Compare the decision without a seat with the recorded one."""
    changed = decision.outcome is not other.outcome or not _same_winner(decision, other, without)
    return SeatAbsence(changed, str(other.outcome), other.winner, other.position, decision_sentence(other))


def _same_winner(decision: Decision, other: Decision, without: str) -> bool:
    """Whether both winners are the same proposal: without its first author, it is named after another."""
    if decision.winner == other.winner or not decision.is_decided:
        return True
    authors = {proposal.id: set(proposal.authors) - {without} for proposal in decision.proposals}.get(
        decision.winner, set[str]()
    )
    others = {proposal.id: set(proposal.authors) for proposal in other.proposals}.get(other.winner, set[str]())
    return bool(authors & others) or (
        normalize_counted_position(decision.position) == normalize_counted_position(other.position) != ""
    )


# --- the whole -----------------------------------------------------------------------------------


def build_recount_report(session: Session, absences: Mapping[str, SeatAbsence]) -> Recount:
    """Recount a decided session; `absences` come from replaying its meeting without each seat."""
    decision = session.decision
    assert decision is not None
    positions = seat_positions_up_to_decision(session)
    bills = {line.name: line for line in build_cost_report(session).seats}
    return Recount(
        session.id,
        session.charter.slug,
        session.charter.question,
        str(decision.outcome),
        decision.winner,
        decision.position,
        tuple(
            _recount_seat(
                positions.get(seat.name, SeatPositions(seat.name, "", "")),
                bills[seat.name],
                absences[seat.name],
                decision,
            )
            for seat in session.charter.seats
        ),
        tuple(_recount_rules(session, decision, positions)),
        {proposal.id: proposal.text for proposal in decision.proposals},
        bool(decision.winner) and any(answer.option == decision.winner for answer in session.answers.values()),
    )


def _recount_seat(positions: SeatPositions, bill: CostLine, without: SeatAbsence, decision: Decision) -> SeatRecount:
    conformed = positions.seat in decision.conformity or positions.reasoned is False
    moved = positions.moved or positions.seat in decision.conformity
    figures = (bill.calls, bill.tokens, bill.cost_usd, bill.price)
    return SeatRecount(
        positions.seat, positions.first, positions.last, moved, positions.reasoned, conformed, *figures, without
    )


# --- by other rules ------------------------------------------------------------------------------

RuleOverSeats = Callable[[Sequence[str]], Ruling]
"""A rule over the record, counted for these seats only."""


def _recount_rules(
    session: Session, decision: Decision, positions: Mapping[str, SeatPositions]
) -> Iterator[RuleRecount]:
    seats = tuple(seat.name for seat in session.charter.seats)
    for name, count in _rules_by_name(session, positions).items():
        if count is None:
            yield RuleRecount(name, False, why="This rule cannot count the answers that this meeting asks for.")
            continue
        ruling = count(seats)
        result = (ruling.outcome, ruling.winner)
        winner = decide_proposal_named_by_vote(ruling.winner, decision.proposals)
        without = {seat: count([name for name in seats if name != seat]) for seat in seats}
        yield RuleRecount(
            name,
            True,
            str(ruling.outcome),
            winner,
            ruling.outcome is decision.outcome and winner in ("", decision.winner),
            tuple(seat for seat, ruling in without.items() if (ruling.outcome, ruling.winner) != result),
            describe_reasons(ruling.why),
        )


def _rules_by_name(session: Session, positions: Mapping[str, SeatPositions]) -> dict[str, RuleOverSeats | None]:
    """Every rule by its displayed name; None if the answers lack what the rule counts."""
    scored = _last_round_with(session, lambda verdict: verdict.score is not None)
    stanced = _last_round_with(session, lambda verdict: verdict.stance is not Stance.UNKNOWN, _OBJECTION_CODECS)
    keyed = _last_round_with(session, lambda verdict: bool(verdict.key))
    ballot = _last_round_with(session, lambda verdict: bool(verdict.ranking))
    blind = all(record.opened.turns.visibility != "same_round" for record in list(session.rounds.values())[:1])
    rules: dict[str, RuleOverSeats | None] = {
        "blind vote" if blind else "first positions": _plurality_rule(
            {seat: path.first for seat, path in positions.items()}
        ),
        "majority of last positions": _majority_rule({seat: path.last for seat, path in positions.items()}),
    }
    for least in _SCORE_THRESHOLDS:
        rules[f"every score at least {least}"] = _rule_over_round(scored, rule_score_threshold, minimum=least)
    rules |= {
        "no open issue at all, every score at least 9": _rule_over_round(
            scored, rule_score_threshold, pending_blocks="any"
        ),
        "no objection, a majority for it": _rule_over_round(stanced, rule_no_objection),
        "no objection, all for it": _rule_over_round(stanced, rule_no_objection, support="all"),
        "two sure seats name the same cause": _rule_over_round(keyed, rule_root_cause_convergence),
        "ranked: one against one, then elimination": _rule_over_ballots(ballot, rule_ranked_vote),
        "ranked: one against one only": _rule_over_ballots(ballot, _condorcet_ruling),
        "ranked: elimination only": _rule_over_ballots(ballot, _elimination_ruling),
        "first choices only": _rule_over_ballots(ballot, _first_choices_ruling),
    }
    return rules


def _last_round_with(
    session: Session, is_countable: Callable[[Verdict], bool], forms: Sequence[str] = ()
) -> Round | None:
    """The last closed round with an answer in one of these codecs that a rule can count."""
    for record in reversed(session.rounds.values()):
        if record.closed is not None and (not forms or record.opened.expect.codec in forms):
            round = record.result(record.closed)
            if any(move.verdict.counts and is_countable(move.verdict) for move in round.moves):
                return round
    return None


def _rule_over_round(round: Round | None, rule: Callable[..., Ruling], **settings: object) -> RuleOverSeats | None:
    if round is None:
        return None

    def count(seats: Sequence[str]) -> Ruling:
        electorate = [seat for seat in round.electorate if seat in seats]
        return rule([move for move in round.moves if move.seat in electorate], electorate, **settings)

    return count


def _rule_over_ballots(
    round: Round | None, rule: Callable[[dict[str, tuple[str, ...]], Sequence[str]], Ruling]
) -> RuleOverSeats | None:
    if round is None:
        return None
    ballots = {move.seat: move.verdict.ranking for move in round.moves if move.verdict.counts and move.verdict.ranking}
    candidates = tuple(dict.fromkeys(name for ballot in ballots.values() for name in ballot))
    return lambda seats: rule({seat: ballot for seat, ballot in ballots.items() if seat in seats}, candidates)


def _condorcet_ruling(ballots: dict[str, tuple[str, ...]], candidates: Sequence[str]) -> Ruling:
    winner = condorcet_winner(ballots, candidates)
    if winner:
        return Ruling(Outcome.REACHED, winner, why=(CondorcetWinner(winner),))
    return Ruling(Outcome.DEADLOCK, why=(NoCondorcetWinner(),))


def _elimination_ruling(ballots: dict[str, tuple[str, ...]], candidates: Sequence[str]) -> Ruling:
    winners = instant_runoff_winners(ballots, candidates) if ballots else ()
    if len(winners) == 1:
        return Ruling(Outcome.REACHED, winners[0], why=(LastRemaining(winners[0]),))
    return Ruling(Outcome.TIE, why=(VotesTied(tuple(winners)) if winners else NoBallots(),))


def _first_choices_ruling(ballots: dict[str, tuple[str, ...]], _: Sequence[str]) -> Ruling:
    return _plurality_ruling({seat: ballot[0] for seat, ballot in ballots.items()})


def _plurality_rule(votes: Mapping[str, str]) -> RuleOverSeats | None:
    return (
        (lambda seats: _plurality_ruling({name: vote for name, vote in votes.items() if name in seats}))
        if votes
        else None
    )


def _majority_rule(votes: Mapping[str, str]) -> RuleOverSeats | None:
    return (
        (lambda seats: _majority_ruling({name: vote for name, vote in votes.items() if name in seats}))
        if votes
        else None
    )


def _plurality_ruling(votes: Mapping[str, str]) -> Ruling:
    """The position with the most votes, unless another has equally many."""
    tally = Counter(votes.values()).most_common()
    leaders = [name for name, count in tally if count == tally[0][1]]
    if not leaders:
        return Ruling(Outcome.INSUFFICIENT, why=(NoPositions(),))
    most, counted = tally[0][1], len(votes)
    if len(leaders) > 1:
        return Ruling(Outcome.TIE, why=(VotesTied(tuple(leaders), most, counted),))
    if leaders[0] in STANCE_POSITIONS.values():
        agreed = leaders[0] == STANCE_POSITIONS[Stance.SUPPORT]
        return Ruling(Outcome.REACHED if agreed else Outcome.DEADLOCK, why=(MostVotes(most, counted, leaders[0]),))
    return Ruling(Outcome.REACHED, leaders[0], why=(MostVotes(most, counted),))


def _majority_ruling(votes: Mapping[str, str]) -> Ruling:
    """The position with the most votes, if it has more than half."""
    ruling = _plurality_ruling(votes)
    most_votes = max(Counter(votes.values()).values(), default=0)
    if ruling.reached and most_votes * 2 <= len(votes):
        return Ruling(Outcome.DEADLOCK, why=(NoVoteMajority(most_votes, len(votes)),))
    return ruling
