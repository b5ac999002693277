"""Line diffs: exact for all texts, and fast for hostile ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roundtable.workshop.edit.hunks import ChangedLines, diff_edited_lines

TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f", b"g"]), max_size=20)


@given(TEXTS, TEXTS)
def test_replacing_the_old_lines_of_a_diff_by_the_new_ones_yields_the_new_text(
    old: list[bytes], new: list[bytes]
) -> None:
    rebuilt: list[bytes] = []
    old_end = new_end = 0
    for run in diff_edited_lines(old, new):
        assert old[old_end : run.old[0]] == new[new_end : run.new[0]]
        rebuilt += (*old[old_end : run.old[0]], *new[slice(*run.new)])
        assert old[slice(*run.old)] != new[slice(*run.new)]
        old_end, new_end = run.old[1], run.new[1]
    assert [*rebuilt, *old[old_end:]] == new


def test_lines_that_are_unique_in_both_texts_separate_changes() -> None:
    old = [b"{", b"one", b"}", b"{", b"two", b"}", b"{", b"three", b"}"]
    new = [b"{", b"one", b"}", b"{", b"2", b"2.5", b"}", b"{", b"three", b"}", b"end"]
    assert diff_edited_lines(old, new) == [ChangedLines((4, 5), (4, 6)), ChangedLines((9, 9), (10, 11))]


def test_texts_of_a_few_repeated_lines_are_compared_quickly() -> None:
    old = [b"q", *([b"a", b"b"] * 20_000), b"z"]
    new = [b"p", *([b"a", b"a", b"b"] * 15_000), b"y"]
    assert diff_edited_lines(old, new) == [ChangedLines((0, len(old)), (0, len(new)))]


def test_a_long_file_changed_at_both_ends_has_two_changes() -> None:
    middle = [b"%d" % number if number % 3 else b"" for number in range(60_000)]
    assert diff_edited_lines([b"x", *middle, b"y"], [b"X", *middle, b"Y"]) == [
        ChangedLines((0, 1), (0, 1)),
        ChangedLines((60_001, 60_002), (60_001, 60_002)),
    ]
