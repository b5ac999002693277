"""The options of a gate as people type them."""

from __future__ import annotations

from roundtable.core.values import Gate
from roundtable.live.gate_options import live_gate_option_letters, match_live_gate_answer, match_live_gate_option

FINAL_OPTIONS = ("apply", "myself", "later", "back", "choose", "reject")


def test_a_letter_is_accepted_if_it_means_only_one_option() -> None:
    gate = Gate("decide", "What next?", FINAL_OPTIONS, default="later")
    assert live_gate_option_letters(gate) == {name: name[0] for name in FINAL_OPTIONS}
    shared = Gate("g", "?", ("stop", "start", "none", "A"), default="none")
    assert live_gate_option_letters(shared) == {"none": "n"}
    assert match_live_gate_option(shared, "s") is None
    assert match_live_gate_option(shared, "a") == "A"


def test_a_reason_can_follow_the_option() -> None:
    gate = Gate("decide", "What next?", FINAL_OPTIONS, default="later")
    assert match_live_gate_answer(gate, "b: think of the cache") == ("back", "think of the cache")
    assert match_live_gate_answer(gate, "apply") == ("apply", "")
    assert match_live_gate_answer(gate, "a look at the cache")[0] is None
    assert match_live_gate_answer(gate, ": nothing")[0] is None


def test_a_gate_is_answered_by_number_name_or_an_empty_line() -> None:
    gate = Gate("choose", "Which?", ("A", "B", "none"), default="none")
    typed = {"": "none", "1": "A", "b": "B", "none": "none", "4": None, "C": None}
    assert {text: match_live_gate_option(gate, text) for text in typed} == typed
    assert match_live_gate_option(Gate("n", "?", ("2", "1"), default="1"), "1") == "1"
