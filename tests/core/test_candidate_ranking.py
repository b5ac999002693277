"""Candidates ranked by running them: checks before tests before outputs, and never by their author's claims."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.candidate_reasons import CallOutcome, NoCandidateRun
from roundtable.core.decide.candidate_ranking import CandidateRanking, CandidateRun, decide_candidate_ranking
from roundtable.report.reasons import describe_reasons


def value(text: str) -> CallOutcome:
    """A returned value."""
    return CallOutcome("value", text)


def error(name: str) -> CallOutcome:
    """A raised error."""
    return CallOutcome("error", name)


def how(ranking: CandidateRanking) -> str:
    """What a ranking is based on, as text."""
    return describe_reasons(ranking.how)


NAMES = ("ada", "bob", "eve", "kim")
passes = st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.booleans())
candidates = st.lists(
    st.builds(
        CandidateRun,
        candidate=st.sampled_from(NAMES),
        checks=st.fixed_dictionaries({"unit": st.booleans(), "style": st.booleans()}),
        tests=passes,
        outputs=st.dictionaries(
            st.sampled_from(["f(1)", "f(2)"]), st.sampled_from([value("1"), value("2"), error("ValueError")])
        ),
    ),
    unique_by=lambda run: run.candidate,
    max_size=4,
)
authors = st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.sampled_from(NAMES))


def test_a_regression_weighs_more_than_any_passed_tests() -> None:
    judged = decide_candidate_ranking(
        [
            CandidateRun("ada", {"unit": False}, {"t1": True, "t2": True, "t3": True}),
            CandidateRun("bob", {"unit": True}, {"t1": False, "t2": False, "t3": False}),
        ],
        {"unit": True},
    )
    assert judged.order == ("bob", "ada")
    assert how(judged).endswith("bob's candidate had the best results.")
    assert "1 candidate broke a check that passed before the change." in how(judged)
    assert "3 of the 3 tests that the seats wrote count" in how(judged)


def test_a_check_that_failed_before_is_no_regression_but_fixing_it_ranks_higher() -> None:
    ran = [CandidateRun("ada", {"unit": True, "style": False}), CandidateRun("bob", {"unit": True, "style": True})]
    assert decide_candidate_ranking(ran, {"unit": True, "style": False}).order == ("bob", "ada")
    ran = [CandidateRun("ada", {"unit": True, "style": False}), CandidateRun("bob", {"unit": False, "style": True})]
    assert decide_candidate_ranking(ran, {"unit": True, "style": False}).order == ("ada", "bob")


def test_a_test_that_only_its_authors_candidate_passes_is_not_counted() -> None:
    tests = {f"mine{number}": True for number in range(20)}
    ran = [CandidateRun("ada", tests=tests), CandidateRun("bob", tests=dict.fromkeys(tests, False))]
    judged = decide_candidate_ranking(ran, authors=dict.fromkeys(tests, "ada"))
    assert judged.clusters == (("ada", "bob"),)
    assert judged.best == ("ada", "bob")


def test_two_candidates_that_only_an_authors_own_test_distinguishes_behave_differently() -> None:
    ran = [CandidateRun("ada", {"unit": True}, {"t": True}), CandidateRun("bob", {"unit": True}, {"t": False})]
    judged = decide_candidate_ranking(ran, authors={"t": "ada"})
    assert (judged.best, judged.ways, judged.telling) == (("ada", "bob"), (("ada",), ("bob",)), ("t",))
    assert how(judged) == (
        "The 2 candidates behave in 2 different ways in the checks and tests. "
        "The results do not show which of these candidates is right: ada and bob."
    )
    assert decide_candidate_ranking(
        [CandidateRun(run.candidate, tests=run.tests) for run in ran], authors={"t": "ada"}
    ).compared


@pytest.mark.parametrize(
    ("alone", "ways"),
    [
        ("ada", [{"ada", "bob", "eve", "kim"}]),
        ("ada bob", [{"ada", "bob", "eve", "kim"}]),
        ("ada bob eve", [{"ada"}, {"bob"}, {"eve"}, {"kim"}]),
    ],
)
def test_authors_own_tests_distinguish_nobody_if_two_candidates_without_tests_agree(
    alone: str, ways: list[set[str]]
) -> None:
    own = {f"of {name}": name for name in alone.split()}
    ran = [CandidateRun(name, {"unit": True}, {test: author == name for test, author in own.items()}) for name in NAMES]
    judged = decide_candidate_ranking(ran, authors=own)
    assert list(map(set, judged.ways)) == ways
    assert judged.telling == (() if len(ways) == 1 else tuple(own))


def test_a_candidate_that_cannot_be_chosen_supports_no_other() -> None:
    ran = [CandidateRun(name, {"unit": True}, {"t": name == "ada"}) for name in ("ada", "bob", "eve")]
    assert decide_candidate_ranking(ran, {}, {"t": "ada"}, ["ada", "bob"]).ways == (("ada",), ("bob", "eve"))
    assert decide_candidate_ranking(ran, {}, {"t": "ada"}).ways == (("ada", "bob", "eve"),)


def test_the_author_of_all_tests_is_not_ranked_below_a_candidate_that_passes_no_more() -> None:
    own, both = {"t1": True, "t2": True}, {"f(1)": value("1")}
    ran = [
        CandidateRun("ada", tests=own, outputs=both | {"f(2)": value("2")}),
        CandidateRun("bob", tests=own, outputs=both | {"f(2)": error("ValueError")}),
        CandidateRun(
            "eve", tests={"t1": True, "t2": False}, outputs={"f(1)": error("ValueError"), "f(2)": error("ValueError")}
        ),
    ]
    assert decide_candidate_ranking(ran, authors=dict.fromkeys(own, "ada")).order == ("ada", "bob", "eve")


def test_a_test_that_its_authors_candidate_fails_is_not_counted() -> None:
    ran = [CandidateRun(name, tests={"t": name in ("bob", "eve")}) for name in NAMES]
    assert decide_candidate_ranking(ran, authors={"t": "ada"}).best == NAMES
    assert decide_candidate_ranking(ran, authors={"t": "bob"}).best == ("bob", "eve")


def test_a_test_that_another_candidate_passes_counts_against_the_third() -> None:
    ran = [
        CandidateRun("ada", tests={"t": True}),
        CandidateRun("bob", tests={"t": True}),
        CandidateRun("eve", tests={"t": False}),
    ]
    judged = decide_candidate_ranking(ran, authors={"t": "ada"})
    assert judged.clusters == (("ada", "bob"), ("eve",))


def test_writing_many_easy_tests_does_not_help_their_author() -> None:
    easy = {f"easy{number}": True for number in range(50)}
    ran = [
        CandidateRun("ada", tests={**easy, "b": False, "e": False}),
        CandidateRun("bob", tests={**easy, "b": True, "e": True}, outputs={"f(1)": value("1")}),
        CandidateRun("eve", tests={**easy, "b": True, "e": True}, outputs={"f(1)": value("2")}),
    ]
    judged = decide_candidate_ranking(ran, authors={**dict.fromkeys(easy, "ada"), "b": "bob", "e": "eve"})
    assert judged.order[-1] == "ada"
    assert judged.best == ("bob", "eve")


def test_an_author_of_many_tests_weighs_no_more_than_an_author_of_one() -> None:
    many = [f"many{number}" for number in range(10)]
    ran = [
        CandidateRun("ada", tests={**dict.fromkeys(many, True), "few": False}),
        CandidateRun("bob", tests={**dict.fromkeys(many, False), "few": True}),
    ]
    assert decide_candidate_ranking(ran, authors={**dict.fromkeys(many, "eve"), "few": "kim"}).best == ("ada", "bob")


def test_the_only_author_of_tests_gains_no_rank_from_them() -> None:
    ran = [
        CandidateRun("ada", tests={"t1": True, "t2": True}),
        CandidateRun("bob", tests={"t1": True, "t2": False}),
        CandidateRun("eve", tests={"t1": False, "t2": True}),
    ]
    assert decide_candidate_ranking(ran, authors={"t1": "ada", "t2": "ada"}).best == ("ada", "bob", "eve")


def test_independent_candidates_that_behave_alike_are_preferred() -> None:
    ran = [
        CandidateRun("ada", outputs={"f(1)": value("1")}),
        CandidateRun("bob", outputs={"f(1)": value("2")}),
        CandidateRun("eve", outputs={"f(1)": value("2")}),
    ]
    judged = decide_candidate_ranking(ran)
    assert judged.clusters == (("bob", "eve"), ("ada",))
    assert how(judged) == (
        "The 3 candidates were run with 1 input and behave in 2 different ways. "
        "The candidates of bob and eve have the same results."
    )


def test_the_candidate_that_shares_the_most_outputs_ranks_first_and_shared_errors_do_not_count() -> None:
    ran = [
        CandidateRun("ada", outputs={"f(1)": value("1"), "f(2)": error("ValueError"), "f(3)": error("ValueError")}),
        CandidateRun("bob", outputs={"f(1)": value("2"), "f(2)": value("0"), "f(3)": error("ValueError")}),
        CandidateRun("eve", outputs={"f(1)": value("2"), "f(2)": value("5"), "f(3)": value("7")}),
    ]
    assert decide_candidate_ranking(ran).order == ("eve", "bob", "ada")


def test_two_candidates_that_only_differ_are_tied() -> None:
    ran = [CandidateRun("ada", outputs={"f(1)": value("1")}), CandidateRun("bob", outputs={"f(1)": value("2")})]
    judged = decide_candidate_ranking(ran)
    assert judged.best == ("ada", "bob")
    assert len(judged.clusters) == 2
    assert how(judged) == (
        "The 2 candidates were run with 1 input and behave in 2 different ways. "
        "The results do not show which of these candidates is right: ada and bob."
    )


def test_without_a_run_no_candidate_is_best() -> None:
    assert decide_candidate_ranking([]) == CandidateRanking(how=(NoCandidateRun(),))
    assert decide_candidate_ranking([CandidateRun("ada", {"unit": True})]).how == ()


@pytest.mark.parametrize("outputs", [{}, {"m.Cart()": value("<m.Cart object>")}])
def test_candidates_without_tried_inputs_are_not_described_as_behaving_alike(outputs: dict[str, CallOutcome]) -> None:
    ran = [CandidateRun(name, {"unit": True}, outputs=outputs) for name in ("ada", "bob")]
    assert how(decide_candidate_ranking(ran)).startswith(
        "The 2 candidates have the same results in the checks, and they could not be compared with further inputs. "
        "The candidates of"
    )


@given(candidates, authors)
def test_every_candidate_is_ranked_once_and_equal_candidates_share_a_cluster(
    ran: list[CandidateRun], authors: dict[str, str]
) -> None:
    judged = decide_candidate_ranking(ran, {"unit": True}, authors)
    assert sorted(judged.order) == sorted(run.candidate for run in ran)
    assert judged.order[: len(judged.best)] == judged.best
    places = {name: place for place, cluster in enumerate(judged.clusters) for name in cluster}
    for one in ran:
        for other in ran:
            together = places[one.candidate] == places[other.candidate]
            same = (one.checks, one.outputs) == (other.checks, other.outputs)
            assert same if together else (not same or one.tests != other.tests)


@given(candidates, authors)
def test_a_candidate_with_a_regression_never_ranks_above_one_without(
    ran: list[CandidateRun], authors: dict[str, str]
) -> None:
    broke = {run.candidate: not run.checks["unit"] for run in ran}
    order = [broke[name] for name in decide_candidate_ranking(ran, {"unit": True, "style": False}, authors).order]
    assert order == sorted(order)


@given(candidates, authors, st.randoms(use_true_random=False))
def test_the_order_of_the_seats_does_not_change_the_ranking(
    ran: list[CandidateRun], authors: dict[str, str], dice: Random
) -> None:
    mixed = ran.copy()
    dice.shuffle(mixed)
    one, other = decide_candidate_ranking(ran, {}, authors), decide_candidate_ranking(mixed, {}, authors)
    assert set(one.best) == set(other.best)
    assert {frozenset(cluster) for cluster in one.clusters} == {frozenset(cluster) for cluster in other.clusters}


@given(candidates, st.integers(1, 30))
def test_tests_that_only_their_author_passes_do_not_change_the_ranking(ran: list[CandidateRun], many: int) -> None:
    if not ran:
        return
    own = {f"own{number}": ran[0].candidate for number in range(many)}
    more = [
        CandidateRun(run.candidate, run.checks, run.tests | dict.fromkeys(own, run is ran[0]), run.outputs)
        for run in ran
    ]
    assert decide_candidate_ranking(more, authors=own).clusters == decide_candidate_ranking(ran).clusters
