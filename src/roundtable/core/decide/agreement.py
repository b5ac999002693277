"""Rules of agreement for one round: a score threshold, convergence on a root cause, support without objections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from roundtable.core.decide.ruling import (
    Ruling,
    rule_nobody_counted,
    seats_not_counted_in_decision,
    seats_voting_with_stance,
    verdicts_counted_in_decision,
)
from roundtable.core.reasons import (
    AllScoresLow,
    BlockingIssuesOpen,
    ObjectionsRaised,
    RootCauseFound,
    RootCausesTied,
    RootCauseUnclear,
    ScoresHighEnough,
    ScoresMissing,
    ScoresTooLow,
    SupportReached,
    SupportTooLow,
)
from roundtable.core.text.wording import text_slug_similarity
from roundtable.core.values import Move, Outcome
from roundtable.core.verdict import Stance, Verdict

_ROUNDING = 1e-9


def rule_score_threshold(
    moves: Iterable[Move],
    electorate: Sequence[str],
    minimum: float = 9,
    negative: float = 3,
    pending_blocks: Literal["marked", "any"] = "marked",
    *,
    round: str = "",
) -> Ruling:
    """Reached when every seat gives a score of at least `minimum` out of ten and no blocking issue is open.

    Rejected when no score is above `negative`. `pending_blocks` says which issues block: those marked as blocking, or
    any.
    """
    verdicts = verdicts_counted_in_decision(moves, electorate, round)
    scores = {seat: verdict.score * 10 for seat, verdict in verdicts.items() if verdict.score is not None}
    if not scores:
        return rule_nobody_counted(electorate)
    absent = seats_not_counted_in_decision(electorate, scores)
    low = [seat for seat, score in scores.items() if score < minimum - _ROUNDING]
    blocked = [seat for seat in scores if _blocks(verdicts[seat], pending_blocks)]
    outcome = Outcome.DEADLOCK
    if absent:
        why = ScoresMissing(absent)
    elif all(score <= negative + _ROUNDING for score in scores.values()):
        outcome, why = Outcome.REJECTED, AllScoresLow(negative)
    elif low:
        why = ScoresTooLow(tuple(low), minimum)
    elif blocked:
        why = BlockingIssuesOpen(tuple(blocked))
    else:
        outcome, why = Outcome.REACHED, ScoresHighEnough(minimum)
    return Ruling(
        outcome,
        supporters=seats_not_counted_in_decision(tuple(scores), low),
        opposed=seats_voting_with_stance(verdicts, Stance.OPPOSE),
        counted=tuple(scores),
        why=(why,),
        tally={seat: _rounded_score(score) for seat, score in scores.items()},
    )


def _rounded_score(score: float) -> float:
    """Return a score without floating-point noise."""
    return float(f"{score:.3f}")


def _blocks(verdict: Verdict, pending_blocks: str) -> bool:
    return any(issue.blocking or pending_blocks == "any" for issue in verdict.issues)


def rule_root_cause_convergence(
    moves: Iterable[Move],
    electorate: Sequence[str],
    seats: int = 2,
    confidence: float = 8,
    similarity: float = 0.7,
    *,
    round: str = "",
) -> Ruling:
    """Reached when at least `seats` confident seats name one root cause, with equal or similar names (keys)."""
    verdicts = verdicts_counted_in_decision(moves, electorate, round)
    if not verdicts:
        return rule_nobody_counted(electorate)
    keys = {
        seat: verdict.key
        for seat, verdict in verdicts.items()
        if verdict.key and (verdict.confidence or 0) * 10 >= confidence - _ROUNDING
    }
    exact_counts = Counter(keys.values())
    # The camp of a key has all seats with a similar key. Of similar keys with equal camps, the most used one leads.
    camps = {
        key: tuple(seat for seat in keys if text_slug_similarity(keys[seat], key) >= similarity) for key in exact_counts
    }
    order = sorted(camps, key=lambda key: (-len(camps[key]), -exact_counts[key], key))
    tally: dict[str, float | int] = {key: len(camps[key]) for key in order}
    counted = tuple(verdicts)
    if not order or len(camps[order[0]]) < seats:
        unnamed = tuple(seat for seat, verdict in verdicts.items() if not verdict.key)
        return Ruling(Outcome.DEADLOCK, counted=counted, why=(RootCauseUnclear(seats, unnamed),), tally=tally)
    winner = order[0]
    rivals = [
        key for key in order if len(camps[key]) == len(camps[winner]) and not set(camps[key]) & set(camps[winner])
    ]
    if rivals:
        return Ruling(Outcome.TIE, counted=counted, why=(RootCausesTied((winner, *rivals)),), tally=tally)
    return Ruling(
        Outcome.REACHED,
        winner,
        supporters=camps[winner],
        opposed=seats_not_counted_in_decision(tuple(keys), camps[winner]),
        counted=counted,
        why=(RootCauseFound(camps[winner], winner),),
        tally=tally,
    )


def rule_no_objection(
    moves: Iterable[Move], electorate: Sequence[str], support: Literal["majority", "all"] = "majority"
) -> Ruling:
    """Reached when one proposal has enough support and no seat objects; an amendment counts as support.

    A supporting seat that names no proposal supports the leading one. The needed support is a share of the electorate
    without abstentions; missing seats are not left out.
    """
    verdicts = verdicts_counted_in_decision(moves, electorate)
    if not verdicts:
        return rule_nobody_counted(electorate)
    backing = {seat: verdicts[seat].target for seat in seats_voting_with_stance(verdicts, Stance.SUPPORT, Stance.AMEND)}
    targets = Counter(target for target in backing.values() if target)
    leader = min(targets, key=lambda target: (-targets[target], target), default="")
    supporters = tuple(seat for seat, target in backing.items() if target in ("", leader))
    opposed = seats_voting_with_stance(verdicts, Stance.OPPOSE)
    voters = seats_not_counted_in_decision(electorate, seats_voting_with_stance(verdicts, Stance.ABSTAIN))
    needed = len(voters) if support == "all" else len(voters) // 2 + 1
    enough = bool(supporters) and len(supporters) >= needed
    if opposed:
        why = ObjectionsRaised(opposed)
    elif not enough:
        why = SupportTooLow(len(supporters), len(voters), max(needed, 1))
    else:
        why = SupportReached(len(supporters), len(voters))
    return Ruling(
        Outcome.REACHED if enough and not opposed else Outcome.DEADLOCK,
        winner=_only_leader(targets) if enough and not opposed else "",
        supporters=supporters,
        opposed=opposed,
        counted=tuple(verdicts),
        why=(why,),
        tally=dict(sorted(targets.items())),
        amendments=tuple(
            point for seat in seats_voting_with_stance(verdicts, Stance.AMEND) for point in verdicts[seat].points
        ),
    )


def _only_leader(votes: Mapping[str, int]) -> str:
    """Return the name with the most votes; empty if several names share the lead."""
    leaders = [name for name, count in votes.items() if count == max(votes.values())]
    return leaders[0] if len(leaders) == 1 else ""
