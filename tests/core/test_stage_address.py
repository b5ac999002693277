"""The addresses of stages: the names of rounds, steps and gates, read back as they were built."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.stage_address import StageAddress
from roundtable.core.values import Turns

STAGE_NAMES = st.from_regex(r"[a-z][a-z-]{0,30}", fullmatch=True)


@given(STAGE_NAMES, st.integers(1, 99), st.integers(0, 99))
def test_an_address_is_read_as_it_was_built(stage: str, attempt: int, lap: int) -> None:
    address = StageAddress(stage, attempt, lap)
    assert StageAddress.parse(address.name) == address
    assert StageAddress.of_step(address.step("draft")) == StageAddress(stage, attempt)
    assert address.includes(address.step(3))


@pytest.mark.parametrize("name", ["code", "threat-model", "code-2", "run-2/3", "x-1", "x-02", "x/0", "", "-2"])
def test_every_recorded_name_is_kept_as_it_is(name: str) -> None:
    assert StageAddress.parse(name).name == name


def test_names_of_rounds_steps_and_gates() -> None:
    first, second = StageAddress("code"), StageAddress("code", 2)
    assert (first.step("draft"), second.step(1)) == ("code/draft", "code-2/1")
    assert StageAddress("run", 2, 3).name == "run-2/3"
    assert (first.gate_after, second.gate_after) == ("after-code", "after-code-2")
    assert second.question_gate("dispute") == "code-2-dispute"
    assert second.question_gate("install", 3) == "code-2-install-3"


def test_a_stage_must_not_have_the_name_of_a_gate() -> None:
    assert StageAddress("after-all").is_reserved
    assert StageAddress("code-rerun-shown").is_reserved
    assert not StageAddress("code").is_reserved


def test_seats_see_only_the_rounds_of_their_own_attempt() -> None:
    turns = Turns(stage="code-2")
    assert turns.includes_round("code-2/draft")
    assert not turns.includes_round("code/draft")
    assert Turns().includes_round("code/draft")
