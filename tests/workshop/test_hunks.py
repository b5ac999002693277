"""Hunks of a draft: whatever a person approves or rejects, all other lines stay unchanged byte for byte."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.changeset import DraftFile, Hunk, HunkChoice, HunkId
from roundtable.core.refusals import Refusal, RefusalKind
from roundtable.workshop.edit.hunks import apply_accepted_hunks, split_edits_into_hunks

BEFORE = b"one\ntwo\nthree\nfour\nfive\n"
AFTER = b"1\ntwo\nthree\nfour\n5\nsix\n"
EDIT = DraftFile("src/a.py", BEFORE, AFTER, asked_by="D-1")
NEW = DraftFile("new.py", None, b"x\ny\n", executable=True)
GONE = DraftFile("gone.py", b"x\n", None, was_executable=True)
MOVED = DraftFile("to.py", b"a\nb\n", b"a\nB\n", was="from.py")
MODE = DraftFile("run.sh", b"a\n", b"b\n", executable=True)
ALL = (EDIT, NEW, GONE, MOVED, MODE)


def reject_hunks(*rejected: str, **edited: str) -> dict[str, DraftFile]:
    """Return the files of the draft without the rejected hunks, and with the person's text for edited ones."""
    result = apply_accepted_hunks(
        ALL, HunkChoice(rejected, {name.replace("__", "#").replace("_", "."): text for name, text in edited.items()})
    )
    assert not isinstance(result, Refusal)
    return {file.path: file for file in result}


def test_every_hunk_of_a_draft_has_a_stable_id() -> None:
    hunks = split_edits_into_hunks(ALL)
    assert [hunk.id for hunk in hunks] == [
        *("src/a.py#1", "src/a.py#2", "new.py#mode", "new.py#1", "gone.py#1"),
        *("to.py#rename", "to.py#1", "run.sh#mode", "run.sh#1"),
    ]
    assert hunks[0] == Hunk("src/a.py#1", "src/a.py", 1, ("one",), ("1",), "D-1", below=("two", "three"))
    assert hunks[1] == Hunk("src/a.py#2", "src/a.py", 5, ("five",), ("5", "six"), "D-1", ("three", "four"))
    assert hunks[5] == Hunk("to.py#rename", "to.py", 0, ("from.py",), ("to.py",))
    assert split_edits_into_hunks(ALL) == hunks


def test_some_hunks_are_approved_and_others_rejected() -> None:
    assert reject_hunks("src/a.py#2")["src/a.py"].after == b"1\ntwo\nthree\nfour\nfive\n"
    assert reject_hunks("src/a.py#1")["src/a.py"].after == b"one\ntwo\nthree\nfour\n5\nsix\n"
    assert "new.py" not in reject_hunks("new.py#1")
    assert "gone.py" not in reject_hunks("gone.py#1")
    kept_name = reject_hunks("to.py#rename")
    assert (kept_name["from.py"].was, kept_name["from.py"].after) == ("", b"a\nB\n")
    assert "to.py" not in kept_name
    assert reject_hunks("to.py#1")["to.py"] == DraftFile("to.py", b"a\nb\n", b"a\nb\n", was="from.py")
    assert reject_hunks("run.sh#mode")["run.sh"] == DraftFile("run.sh", b"a\n", b"b\n")
    assert reject_hunks("run.sh#1")["run.sh"] == DraftFile("run.sh", b"a\n", b"a\n", executable=True)


def test_a_hunk_can_be_replaced_by_the_persons_own_text() -> None:
    assert reject_hunks(**{"src/a_py__1": "eins"})["src/a.py"].after == b"eins\ntwo\nthree\nfour\n5\nsix\n"
    assert reject_hunks(**{"src/a_py__2": ""})["src/a.py"].after == b"1\ntwo\nthree\nfour\n"
    assert reject_hunks(new_py__1="z\n")["new.py"] == DraftFile("new.py", None, b"z\n", executable=True)
    assert reject_hunks(gone_py__1="z\n")["gone.py"] == DraftFile(
        "gone.py", b"x\n", b"z\n", executable=True, was_executable=True
    )
    windows = (DraftFile("w.txt", b"a\r\nb\r\n", b"a\r\nc\r\n"),)
    assert apply_accepted_hunks(windows, HunkChoice(edited={"w.txt#1": "d\ne"})) == (
        DraftFile("w.txt", b"a\r\nb\r\n", b"a\r\nd\r\ne\r\n"),
    )


def test_a_last_line_without_a_newline_is_shown_and_survives_an_editor() -> None:
    files = (DraftFile("a.txt", b"a\n", b"a"),)
    (hunk,) = split_edits_into_hunks(files)
    assert hunk.after == ("a", "\\ No newline at end of file")
    assert apply_accepted_hunks(files, HunkChoice(edited={hunk.id: "b\n\\ No newline at end of file\n"})) == (
        DraftFile("a.txt", b"a\n", b"b"),
    )


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        (HunkChoice(("src/a.py#9",)), RefusalKind.NOT_FOUND),
        (HunkChoice(edited={"other.py#1": ""}), RefusalKind.NOT_FOUND),
        (HunkChoice(edited={"to.py#rename": "x"}), RefusalKind.CONTRADICTION),
        (HunkChoice(("new.py#1",), {"new.py#1": "x"}), RefusalKind.CONTRADICTION),
    ],
)
def test_a_choice_that_does_not_fit_the_plan_is_refused(choice: HunkChoice, kind: RefusalKind) -> None:
    result = apply_accepted_hunks(ALL, choice)
    assert isinstance(result, Refusal)
    assert result.kind is kind


def test_a_choice_of_hunks_can_be_written_as_json() -> None:
    choice = HunkChoice(("a#1",), {"a#2": "text\n"})
    assert msgspec.json.decode(msgspec.json.encode(choice), type=HunkChoice) == choice
    assert msgspec.json.encode(HunkChoice()) == b"{}"


BYTES = st.one_of(
    st.none(),
    st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\r\n", b"\xff\n", b"end"]), max_size=12).map(b"".join),
)


@st.composite
def draft_files(draw: st.DrawFn) -> DraftFile:
    """Generate any file before and after a change."""
    before, after = draw(BYTES), draw(BYTES)
    old_path = "e" if before is not None and after is not None and draw(st.booleans()) else ""
    executable, was_executable = draw(st.booleans()), draw(st.booleans())
    return DraftFile(
        "f", before, after, old_path, executable and after is not None, was_executable and before is not None
    )


def is_unchanged(file: DraftFile) -> bool:
    return (file.was, file.before, file.was_executable) == ("", file.after, file.executable)


@given(draft_files())
def test_approving_all_hunks_yields_the_draft_and_rejecting_all_yields_nothing(file: DraftFile) -> None:
    ids = tuple(hunk.id for hunk in split_edits_into_hunks((file,)))
    assert apply_accepted_hunks((file,), HunkChoice()) == (() if is_unchanged(file) else (file,))
    assert apply_accepted_hunks((file,), HunkChoice(ids)) == ()


@given(draft_files(), st.data())
def test_approved_and_rejected_hunks_add_up_to_the_bytes_of_the_draft(file: DraftFile, data: st.DataObject) -> None:
    ids = [hunk.id for hunk in split_edits_into_hunks((file,))]
    rejected = tuple(name for name in ids if data.draw(st.booleans()))
    part = apply_accepted_hunks((file,), HunkChoice(rejected))
    assert not isinstance(part, Refusal)
    rest = apply_accepted_hunks((file,), HunkChoice(tuple(name for name in ids if name not in rejected)))
    assert not isinstance(rest, Refusal)
    if rejected and len(rejected) < len(ids):
        assert all(changed.before == file.before for changed in (*part, *rest))
        sizes = [
            sum(len(changed.after or b"") - len(changed.before or b"") for changed in files) for files in (part, rest)
        ]
        assert sum(sizes) == len(file.after or b"") - len(file.before or b"")


def test_a_hunk_has_two_lines_of_context_that_never_belong_to_another_hunk() -> None:
    old = b"".join(b"%d\n" % number for number in range(1, 11))
    new = old.replace(b"4\n", b"four\n").replace(b"6\n", b"six\n").replace(b"10\n", b"10")
    four, six, ten = split_edits_into_hunks((DraftFile("a", old, new),))
    assert (four.above, four.below) == (("2", "3"), ("5",))
    assert (six.above, six.below) == (("5",), ("7", "8"))
    assert (ten.above, ten.below) == (("8", "9"), ())
    (whole,) = split_edits_into_hunks((DraftFile("b", None, old),))
    assert whole.above == whole.below == ()


def test_making_a_new_file_executable_is_a_hunk_that_can_be_rejected() -> None:
    mode, text = split_edits_into_hunks((NEW,))
    assert mode == Hunk("new.py#mode", "new.py", 0, (), ("executable",))
    assert text.id == "new.py#1"
    assert reject_hunks("new.py#mode")["new.py"] == DraftFile("new.py", None, b"x\ny\n")
    assert "new.py" not in reject_hunks("new.py#1")


@pytest.mark.parametrize("id", ["src/a.py#2", "to.py#rename", "run.sh#mode", "notes #1.md#12"])
def test_the_id_of_a_hunk_is_read_as_it_was_built(id: str) -> None:
    assert HunkId.parse(id).text == id
    assert Hunk(id, "a.py", 1).is_text == id[-1].isdigit()
    assert Hunk(id, "a.py", 1).is_rename == (HunkId.parse(id).aspect == "rename")
