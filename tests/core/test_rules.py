"""Decision rules: which seats count, what they decide, and that order and silence change nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.core.decide import (
    Ruling,
    rule_by_judge,
    rule_no_objection,
    rule_root_cause_convergence,
    rule_score_threshold,
)
from roundtable.core.text.wording import text_slug_similarity
from roundtable.core.values import Move, MoveStatus, Outcome
from roundtable.core.verdict import Directives, Issue, ParseStatus, Stance, Verdict
from roundtable.report.reasons import describe_reasons
from tests.core.cases import move, stances

SEATS = ("ada", "bob", "cyd")
SUPPORT, OPPOSE, AMEND, ABSTAIN, UNKNOWN = Stance.SUPPORT, Stance.OPPOSE, Stance.AMEND, Stance.ABSTAIN, Stance.UNKNOWN
REACHED, DEADLOCK, INSUFFICIENT = Outcome.REACHED, Outcome.DEADLOCK, Outcome.INSUFFICIENT
Support = Literal["majority", "all"]


def scores(*out_of_ten: float | None) -> list[Move]:
    return [
        move(seat, Verdict(score=score / 10))
        for seat, score in zip(SEATS, out_of_ten, strict=False)
        if score is not None
    ]


def causes(*keys: tuple[str, float]) -> list[Move]:
    return [
        move(seat, Verdict(key=key, confidence=sure / 10)) for seat, (key, sure) in zip("abcdef", keys, strict=False)
    ]


@pytest.mark.parametrize(
    ("given_scores", "outcome", "says"),
    [
        ((9, 10, 9), REACHED, "Every seat gave a score of 9 or more, and no open issue blocks the decision."),
        ((9, 10, 8), DEADLOCK, "cyd gave a score below 9."),
        ((3, 0, 3), Outcome.REJECTED, "3 or less"),
        ((3, 0, 4), DEADLOCK, "ada, bob and cyd gave a score below 9."),
        ((9, None, 10), DEADLOCK, "bob gave no valid score."),
        ((2, None, 2), DEADLOCK, "bob gave no valid score."),
        ((None, None, None), INSUFFICIENT, "None of the 3 seats"),
    ],
)
def test_a_score_threshold_decides_by_the_scores_of_all_seats(
    given_scores: tuple[float | None, ...], outcome: Outcome, says: str
) -> None:
    ruling = rule_score_threshold(scores(*given_scores), SEATS)
    assert ruling.outcome is outcome
    assert says in describe_reasons(ruling.why)
    assert ruling.tally == {seat: score for seat, score in zip(SEATS, given_scores, strict=True) if score is not None}


@pytest.mark.parametrize(
    ("issue", "marked", "any_issue"),
    [(Issue("x", blocking=True), DEADLOCK, DEADLOCK), (Issue("x"), REACHED, DEADLOCK)],
)
def test_a_setting_says_which_issues_block(issue: Issue, marked: Outcome, any_issue: Outcome) -> None:
    moves = [move("ada", Verdict(score=1.0, issues=(issue,))), move("bob", Verdict(score=0.9))]
    assert rule_score_threshold(moves, ("ada", "bob")).outcome is marked
    assert rule_score_threshold(moves, ("ada", "bob"), pending_blocks="any").outcome is any_issue


NINE = Verdict(SUPPORT, score=0.9, key="a-b", confidence=0.9, position="x")
Rule = Callable[[list[Move], tuple[str, ...]], Ruling]


def three_converge(moves: list[Move], electorate: tuple[str, ...]) -> Ruling:
    return rule_root_cause_convergence(moves, electorate, seats=3)


@pytest.mark.parametrize("rule", [rule_score_threshold, three_converge, rule_no_objection])
@pytest.mark.parametrize(
    "uncounted",
    [
        move("cyd", NINE, status=MoveStatus.LATE),
        move("cyd", Verdict(SUPPORT, score=1.0, key="a-b", confidence=1.0, parse=ParseStatus.INFERRED)),
        move("cyd", Verdict(parse=ParseStatus.FAILED)),
        move("eve", NINE),
    ],
)
def test_unreadable_and_missing_answers_do_not_count(rule: Rule, uncounted: Move) -> None:
    ruling = rule([move("ada", NINE), move("bob", NINE), uncounted], SEATS)
    assert ruling.counted == ("ada", "bob")
    assert ruling.reached == (rule is rule_no_objection)


def test_an_old_score_does_not_stand_in_for_a_crashed_seat() -> None:
    moves = [move("ada", NINE, "r/1"), move("bob", NINE, "r/1"), move("ada", NINE, "r/2")]
    assert rule_score_threshold(moves, ("ada", "bob"), round="r/2").outcome is DEADLOCK
    assert rule_score_threshold(moves, ("ada", "bob"), round="r/1").outcome is REACHED
    with pytest.raises(ValueError, match="name of one round"):
        rule_score_threshold(moves, ("ada", "bob"))


@pytest.mark.parametrize(
    ("keys", "outcome", "winner"),
    [
        ([("stale-cache", 8), ("stale-cache", 9)], REACHED, "stale-cache"),
        ([("stale-cache", 8), ("stale-cache", 7)], DEADLOCK, ""),
        ([("missing-index", 9), ("missing-indexes", 9)], REACHED, "missing-index"),
        ([("missing-indexes", 9), ("missing-index", 9), ("missing-index", 9)], REACHED, "missing-index"),
        ([("cache-race-condition", 9), ("race-condition-in-cache", 9)], REACHED, "cache-race-condition"),
        ([("auth-null-pointer", 9), ("cart-null-pointer", 9)], DEADLOCK, ""),
        ([("retry-on-timeout", 9), ("no-retry-on-timeout", 9)], DEADLOCK, ""),
        ([("", 10), ("", 10)], DEADLOCK, ""),
        ([("a-b", 9), ("a-b", 9), ("c-d", 9), ("c-d", 9)], Outcome.TIE, ""),
        ([("a-b", 9), ("a-b", 9), ("a-b", 9), ("c-d", 9), ("c-d", 9)], REACHED, "a-b"),
        ([], INSUFFICIENT, ""),
    ],
)
def test_a_shared_key_decides_a_diagnosis(keys: list[tuple[str, float]], outcome: Outcome, winner: str) -> None:
    ruling = rule_root_cause_convergence(causes(*keys), tuple("abcdef"))
    assert (ruling.outcome, ruling.winner) == (outcome, winner)


def test_seats_that_are_confident_of_another_diagnosis_are_named() -> None:
    ruling = rule_root_cause_convergence(causes(("a-b", 9), ("a-b", 8), ("x-y", 9), ("x-z", 3)), tuple("abcd"))
    assert (ruling.supporters, ruling.opposed, ruling.counted) == (("a", "b"), ("c",), ("a", "b", "c", "d"))


SLUGS = st.lists(st.text("abcno", min_size=1, max_size=4), min_size=1, max_size=4).map("-".join)


@given(SLUGS, SLUGS)
@example("abab", "babaab")
def test_the_similarity_of_keys_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert text_slug_similarity(one, other) == text_slug_similarity(other, one)
    assert 0 <= text_slug_similarity(one, other) <= 1
    assert text_slug_similarity(one, one) == 1
    assert text_slug_similarity(one, "") == 0


@pytest.mark.parametrize(
    ("given_stances", "support", "outcome"),
    [
        ({"ada": SUPPORT, "bob": SUPPORT}, "majority", REACHED),
        ({"ada": SUPPORT, "bob": SUPPORT}, "all", DEADLOCK),
        ({"ada": SUPPORT, "bob": AMEND, "cyd": SUPPORT}, "all", REACHED),
        ({"ada": SUPPORT, "bob": SUPPORT, "cyd": OPPOSE}, "majority", DEADLOCK),
        ({"ada": SUPPORT, "bob": SUPPORT, "cyd": ABSTAIN}, "all", REACHED),
        ({"ada": SUPPORT, "bob": SUPPORT, "cyd": UNKNOWN}, "all", DEADLOCK),
        ({"ada": SUPPORT}, "majority", DEADLOCK),
        ({"ada": ABSTAIN, "bob": ABSTAIN, "cyd": ABSTAIN}, "all", DEADLOCK),
        ({"ada": OPPOSE}, "majority", DEADLOCK),
        ({}, "majority", INSUFFICIENT),
    ],
)
def test_a_proposal_without_objections_and_with_a_majority_is_decided(
    given_stances: dict[str, Stance], support: Support, outcome: Outcome
) -> None:
    assert rule_no_objection(stances(**given_stances), SEATS, support).outcome is outcome


def test_half_is_not_a_majority() -> None:
    assert rule_no_objection(stances(a=SUPPORT, b=SUPPORT), tuple("abcd")).outcome is DEADLOCK
    assert rule_no_objection(stances(a=SUPPORT, b=SUPPORT, c=SUPPORT), tuple("abcd")).outcome is REACHED


def test_votes_are_counted_per_option_and_amendments_are_listed() -> None:
    moves = [
        move("ada", Verdict(SUPPORT, target="rest")),
        move("bob", Verdict(AMEND, target="rest", points=("cache it",))),
        move("cyd", Verdict(SUPPORT, target="graphql")),
    ]
    ruling = rule_no_objection(moves, SEATS)
    assert (ruling.outcome, ruling.winner, ruling.amendments) == (REACHED, "rest", ("cache it",))
    assert ruling.tally == {"graphql": 1, "rest": 2}
    assert rule_no_objection(moves, SEATS, "all").outcome is DEADLOCK, (
        "who stands for another proposal does not support it"
    )


VERDICTS = st.builds(
    Verdict,
    st.sampled_from(Stance),
    target=st.sampled_from(["", "A", "B"]),
    score=st.none() | st.integers(0, 10).map(lambda score: score / 10),
    confidence=st.none() | st.sampled_from([0.7, 0.8, 1.0]),
    position=st.sampled_from(["", "x", "y"]),
    issues=st.sampled_from([(), (Issue("x"),), (Issue("x", blocking=True),)]),
    key=st.sampled_from(["", "a-b", "a-bb", "a-b-c", "x-y"]),
    parse=st.sampled_from(ParseStatus),
)
SUPPORTS: st.SearchStrategy[Support] = st.sampled_from(("majority", "all"))
ROUNDS = st.dictionaries(st.sampled_from("abcde"), VERDICTS).map(lambda said: [move(*pair) for pair in said.items()])


@pytest.mark.parametrize("rule", [rule_score_threshold, rule_root_cause_convergence, rule_no_objection])
@given(moves=ROUNDS, dice=st.randoms(use_true_random=False))
def test_the_order_of_moves_changes_nothing(rule: Rule, moves: list[Move], dice: Random) -> None:
    shuffled = list(moves)
    dice.shuffle(shuffled)
    ruling = rule(moves, tuple("abcd"))
    assert ruling == rule(shuffled, tuple("abcd"))
    assert set(ruling.counted) <= set("abcd")
    assert describe_reasons(ruling.why).endswith(".")


@given(ROUNDS, st.sampled_from("abcd"), SUPPORTS)
def test_additional_agreement_never_undoes_a_decision(moves: list[Move], seat: str, support: Support) -> None:
    others = [each for each in moves if each.seat != seat]
    stronger = [*others, move(seat, Verdict(SUPPORT, score=1.0))]
    if rule_score_threshold(moves, tuple("abcd")).reached:
        assert rule_score_threshold(stronger, tuple("abcd")).reached
    if rule_no_objection(moves, tuple("abcd"), support).reached:
        assert rule_no_objection(stronger, tuple("abcd"), support).reached


@given(ROUNDS, st.sampled_from("abcd"))
def test_one_objection_prevents_a_decision(moves: list[Move], seat: str) -> None:
    objecting = [*(each for each in moves if each.seat != seat), move(seat, Verdict(OPPOSE, score=0.0))]
    assert not rule_no_objection(objecting, tuple("abcd")).reached
    assert not rule_score_threshold(objecting, tuple("abcd")).reached


@pytest.mark.parametrize(
    ("ruled", "outcome", "winner"),
    [
        (None, INSUFFICIENT, ""),
        (move("ada", Verdict(SUPPORT)), REACHED, ""),
        (move("ada", Verdict(SUPPORT, directives=Directives("bob"))), REACHED, "bob"),
        (move("ada", Verdict(AMEND)), DEADLOCK, ""),
        (move("ada", Verdict(parse=ParseStatus.FAILED)), INSUFFICIENT, ""),
        (move("ada", Verdict(SUPPORT, parse=ParseStatus.INFERRED)), INSUFFICIENT, ""),
        (move("ada", Verdict(SUPPORT), status=MoveStatus.LATE), INSUFFICIENT, ""),
        (move("ada", Verdict()), INSUFFICIENT, ""),
    ],
)
def test_a_judges_ruling_is_read_as_a_decision(ruled: Move | None, outcome: Outcome, winner: str) -> None:
    ruling = rule_by_judge(ruled)
    assert (ruling.outcome, ruling.winner) == (outcome, winner)
