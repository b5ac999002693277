"""A judge's ruling, in the words that models use, takes exactly the named functions of the named seats."""

from __future__ import annotations

import pytest

from roundtable.core.decide.merge_ruling import JudgeDirectives, SwappedOrderVerdicts, rule_judge_directives
from roundtable.core.replies import parse_seat_reply
from roundtable.core.replies.judge import restore_seat_names_in_reply_directive
from roundtable.core.values import Expect
from roundtable.core.verdict import Directives
from roundtable.workshop.symbols.synthesis import merge_candidate_symbols
from tests.stories.account_candidates import ACCOUNTS, MERGED_ACCOUNTS

NAMES = {"candidate-A": "gpt", "candidate-B": "claude", "candidate-C": "gemini"}
RULINGS = (
    "CONSENSUS: BASE=B. INCORPORATE: login from A, rollback from C. MUST_FIX: none",
    "CONSENSUS: BASE=Candidate B. INCORPORATE: login from Candidate A; rollback from Candidate C. MUST_FIX: none",
    "CONSENSUS: BASE=**candidate-B**. INCORPORATE: candidate-A's login(), candidate-C's rollback(). MUST_FIX: none",
    "CONSENSUS: BASE=`candidate-B`. INCORPORATE: `login` (candidate-A), `rollback` (candidate-C). MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: replace login with candidate-A's version, replace rollback with the one "
    "from candidate-C. MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: Take the login function from candidate-A and the rollback function from "
    "candidate-C. MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: the login of candidate-A and the rollback of candidate-C MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: login() implementation from candidate-A; rollback() implementation from "
    "candidate-C because it is bounded. MUST_FIX: none",
    "CONSENSUS:\n- BASE: candidate-B\n- INCORPORATE: replace login() by candidate-A's; replace rollback() by "
    "candidate-C's\n- MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B.\nINCORPORATE:\n1. login() from A\n2. C's rollback function\nMUST_FIX: None.",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: accounts.py: login from candidate-A, rollback from candidate-C. "
    "MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: login → candidate-A, rollback → candidate-C. MUST_FIX: none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: swap in candidate-A's login and candidate-C's rollback. MUST_FIX: none",
    "CONSENSUS: BASE = candidate-B\nINCORPORATE = login from candidate-A\nrollback from candidate-C\nMUST_FIX = none",
    "CONSENSUS: BASE=candidate-B. INCORPORATE: candidate-A: login; candidate-C: rollback. MUST_FIX: -",
)


@pytest.mark.feature("S0.5", "S0.18", "S0.20")
@pytest.mark.parametrize("ruling", RULINGS)
def test_a_ruling_can_combine_three_candidates(ruling: str) -> None:
    directives = parse_seat_reply(Expect("judge-merge", tuple(NAMES)), ruling, False).verdict.directives
    assert directives is not None
    wanted = [
        restore_seat_names_in_reply_directive(directive, NAMES)
        for directive in (*directives.incorporate, *directives.must_fix)
    ]
    sources = {seat: {"accounts.py": text.encode()} for seat, text in ACCOUNTS.items()}
    result = merge_candidate_symbols(NAMES[directives.base], sources, wanted)
    assert result.left == ()
    assert result.files == {"accounts.py": MERGED_ACCOUNTS.encode()}


@pytest.mark.parametrize("base", ["A clear winner is hard to find", "candidate-D", "both", "Bob"])
def test_a_ruling_with_an_unknown_base_is_invalid(base: str) -> None:
    ruling = f"CONSENSUS: BASE={base}. INCORPORATE: none MUST_FIX: none"
    assert parse_seat_reply(Expect("judge-merge", tuple(NAMES)), ruling, False).verdict.directives is None


def combine_rulings(first: Directives, second: Directives) -> JudgeDirectives:
    """Return the directives on which two rulings of a judge agree, and the discarded ones."""
    return rule_judge_directives(
        [{"grok": first}, {"grok": second}], SwappedOrderVerdicts({"grok": "claude"}), "claude", NAMES.values()
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("replace login by gpt's", "take `login()` from gpt, because it is bounded"),
        ("use gpt's login instead of claude's", "Use gpt's login function instead of claude's."),
    ],
)
def test_a_directive_given_in_both_orders_is_applied_whatever_its_wording(first: str, second: str) -> None:
    assert combine_rulings(Directives("claude", (first,)), Directives("claude", (second,))) == JudgeDirectives((first,))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("replace login by gpt's", "replace login by gemini's"),
        ("replace claude's login by gpt's", "replace gpt's login by claude's"),
        ("login from gpt", "remove login from gpt"),
        ("login from gpt", "take gpt's login (which is safer) and rollback"),
    ],
)
def test_a_directive_given_in_only_one_order_is_discarded(first: str, second: str) -> None:
    assert combine_rulings(Directives("claude", (first,)), Directives("claude", (second,))) == JudgeDirectives(
        once=(first, second)
    )
    assert combine_rulings(Directives("claude", (first,)), Directives("claude")) == JudgeDirectives(once=(first,))


def test_must_fix_never_removes_code() -> None:
    directives = Directives("claude", ("login from gpt",), ("remove rollback", "rollback from gemini"))
    wanted = combine_rulings(directives, directives)
    sources = {seat: {"accounts.py": text.encode()} for seat, text in ACCOUNTS.items()}
    result = merge_candidate_symbols("claude", sources, wanted.incorporate, wanted.must_fix)
    assert result.files == {"accounts.py": MERGED_ACCOUNTS.encode()}
    assert [directive.directive for directive in result.left] == ["remove rollback"]
    rulings = Directives("claude", ("remove rollback",), ("remove rollback",))
    assert merge_candidate_symbols("claude", sources, combine_rulings(rulings, rulings).incorporate).removed
