"""The change that a seat proposes, and where its tests go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.workshop.trial.proposed_change import ProposedChange, replace_tests_for_trial, suggest_trial_test_path


@pytest.mark.parametrize(
    ("there", "place"),
    [
        (["slug.py"], "test_slug.py"),
        (["slug.py", "tests/test_other.py"], "tests/test_slug.py"),
        (["slug.py", "test/test_other.py"], "test/test_slug.py"),
        (["slug.py", "deep/test_slug.py", "tests/a.py"], "tests/test_slug_2.py"),
    ],
    ids=["beside it", "in tests", "in test", "under a name that nothing has"],
)
def test_new_tests_go_next_to_existing_tests(there: Sequence[str], place: str) -> None:
    changed = [DraftFile("test_new.py", None, b"1\n"), DraftFile("src/slug.py", b"1\n", b"2\n")]
    assert suggest_trial_test_path(changed, there) == place


def test_without_python_code_no_test_path_is_suggested() -> None:
    assert (
        suggest_trial_test_path([DraftFile("slug.js", None, b"1\n"), DraftFile("gone.py", b"1\n", None)], ["slug.js"])
        == ""
    )


def test_requested_tests_replace_only_the_seats_own_tests() -> None:
    code, wrong, earlier = (
        DraftFile(path, None, b"1\n") for path in ("a.py", "test_a.py", "test_of_a_stage_before.py")
    )
    wish = ProposedChange("ada", (code, wrong, earlier), (), (code, wrong))
    new = DraftFile("test_b.py", None, b"2\n")
    found = replace_tests_for_trial(wish, [new])
    assert found.files == (code, earlier, new)
    assert found.own_files == (code, new)
