"""The state of an approval hunk by hunk: keys and the answer they produce."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.core.changeset import HunkChoice
from roundtable.live.hunk_approval import ApprovalAnswer, HunkApproval
from tests.doors.recorded_change import LOGIN, LOGOUT, NOTES, PLAN


def some(*rejected: str, **edited: str) -> ApprovalAnswer:
    """The answer that takes the plan with some hunks rejected or edited."""
    return ApprovalAnswer("some", msgspec.json.encode(HunkChoice(rejected, edited)).decode())


@pytest.mark.feature("S3.86", "S4.26")
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("yyy", ApprovalAnswer("all")),
        ("ay", ApprovalAnswer("all")),
        ("nnn", ApprovalAnswer("none")),
        ("ynn", some(LOGOUT.id, NOTES.id)),
        ("ydy", some(LOGOUT.id)),
        ("dy", some(LOGIN.id, LOGOUT.id)),
        ("y", some(LOGOUT.id, NOTES.id)),
        ("nr", some(LOGIN.id)),
        ("", ApprovalAnswer("none")),
    ],
)
def test_keys_produce_an_answer_at_the_gate(keys: str, answer: ApprovalAnswer) -> None:
    approval = HunkApproval(PLAN)
    assert all(approval.press(key) for key in keys)
    assert approval.answer() == answer


@pytest.mark.feature("S3.86")
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("yuny", some(LOGIN.id, NOTES.id)),
        ("ruyyy", ApprovalAnswer("all")),
        ("duay", ApprovalAnswer("all")),
        ("ynnuuu", ApprovalAnswer("none")),
        ("ypnp", some(LOGOUT.id, NOTES.id)),
    ],
)
def test_u_undoes_the_last_choice_and_p_changes_none(keys: str, answer: ApprovalAnswer) -> None:
    approval = HunkApproval(PLAN)
    assert all(approval.press(key) for key in keys)
    assert approval.answer() == answer


def test_there_is_nothing_to_undo_before_the_first_choice() -> None:
    approval = HunkApproval(PLAN, {LOGIN: True})
    assert not approval.can_undo
    assert not approval.press("u")
    assert approval.current == LOGOUT


def test_a_rewritten_hunk_and_a_restart_can_be_undone() -> None:
    approval = HunkApproval(PLAN)
    approval.settle("def login(): ...")
    approval.restart()
    assert approval.press("u")
    assert approval.rewritten == [LOGIN]
    assert approval.press("u")
    assert (approval.rewritten, approval.current) == ([], LOGIN)


def test_p_shows_the_provenance_of_a_hunk_until_another_one_is_current() -> None:
    approval = HunkApproval(PLAN)
    shown = [approval.shows_provenance for key in "ppp" if approval.press(key)]
    assert shown == [True, False, True]
    assert approval.press("y")
    assert not approval.shows_provenance


def test_a_decided_hunk_is_not_asked_again_unless_it_has_changed() -> None:
    first = HunkApproval(PLAN)
    first.press("y")
    first.press("n")
    changed = msgspec.structs.replace(LOGOUT, after=("    forget(user, all=True)",))
    again = HunkApproval(msgspec.structs.replace(PLAN, hunks=(LOGIN, changed, NOTES)), first.verdicts)
    assert again.current == changed
