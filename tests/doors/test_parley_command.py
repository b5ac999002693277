"""The parley: a person goes through a plan hunk by hunk and says what of it is written."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from roundtable.core.changeset import HunkChoice
from roundtable.core.events import EffectDone
from roundtable.core.values import Digest, Gate
from roundtable.doors.cli.approval_prompt import HUNK_KEYS, HunkPrompt
from roundtable.live.hunk_approval import ApprovalAnswer
from tests.doors.command_line import strip_escapes
from tests.doors.recorded_change import APPROVE, EVENTS_UNTIL_PLAN, LOGIN, LOGOUT, NOTES, PLAN, fold_session
from tests.live.test_hunk_approval import some


def test_every_key_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs/apply.md").read_text()
    assert [key for key in HUNK_KEYS if f"| `{key}` |" not in guide] == []


class Sitting:
    """A person who has written down beforehand what they type; nothing typed is a terminal that is gone."""

    def __init__(self, *lines: str | None, width: int = 120, colors: bool = True) -> None:
        self._typed = list(lines)
        self.asked: list[str] = []
        self.out = io.StringIO()
        self.console = Console(
            file=self.out,
            force_terminal=True,
            width=width,
            color_system="256" if colors else None,
            highlight=False,
            markup=False,
        )
        self.approving = HunkPrompt(self.console, self._read, self._check)
        self.wrong: list[str] = []

    async def _read(self, prompt: str) -> str | None:
        self.asked.append(prompt)
        return self._typed.pop(0) if self._typed else None

    async def _check(self, draft: Digest, choice: HunkChoice) -> Sequence[str]:
        return self.wrong.pop(0).split("\n") if self.wrong else ()

    async def hold(self, gate: Gate = APPROVE) -> ApprovalAnswer | None:
        return await self.approving.approve(fold_session(*EVENTS_UNTIL_PLAN), gate)

    @property
    def seen(self) -> str:
        return strip_escapes(self.out.getvalue())


@pytest.mark.feature("S3.86")
async def test_every_hunk_is_shown_with_its_request_and_writers_before_anything_is_written() -> None:
    person = Sitting("y", "n", "n", "y")
    assert await person.hold() == some(LOGOUT.id, NOTES.id)
    provenance = (
        "1 of 3 · src/login.py: hunk 1 of 2, line 12",
        "3 of 3 · NOTES.md: new file",
        "Requested by D-12, written by ada and bob",
        "Not requested, written by ada",
        "Approved: 1 of 3 hunks in 1 file.",
        "Rejected: src/login.py#2, NOTES.md#1.",
    )
    assert [part for part in provenance if part not in person.seen] == []


async def test_a_wide_terminal_shows_both_sides_of_a_hunk_in_colour_and_a_narrow_one_a_diff() -> None:
    wide, narrow = Sitting("q", width=120), Sitting("q", width=80)
    assert await wide.hold() == await narrow.hold() == ApprovalAnswer("none")
    assert any("- def login(user):" in line and "+ def login(user, again=False):" in line for line in _lines(wide))
    assert any(line.strip() == "+ def login(user, again=False):" for line in _lines(narrow))
    assert "\x1b[" in wide.out.getvalue()
    assert max(map(len, _lines(narrow))) <= 80


@pytest.mark.feature("S3.86")
@pytest.mark.parametrize("width", [120, 80])
async def test_the_lines_around_a_hunk_show_where_it_stands(width: int) -> None:
    around = msgspec.structs.replace(LOGIN, above=("class Door:",), below=("", "# The way out."))
    plan = EffectDone("build/plan", msgspec.structs.replace(PLAN, hunks=(around,)))
    person = Sitting("q", width=width)
    await person.approving.approve(fold_session(*EVENTS_UNTIL_PLAN[:-2], plan, EVENTS_UNTIL_PLAN[-1]), APPROVE)
    lines = [line.strip() for line in _lines(person)]
    start = next(number for number, line in enumerate(lines) if line.startswith("class Door:"))
    changed = {120: 4, 80: 6}[width]
    hunk_lines = lines[start : start + changed + 3]
    assert [line[:2] for line in hunk_lines[1 : 1 + changed]] == {
        120: ["- "] * 2 + ["+ "] * 2,
        80: ["- "] * 2 + ["+ "] * 4,
    }[width]
    assert hunk_lines[0].count("class Door:") == hunk_lines[-1].count("# The way out.") == {120: 2, 80: 1}[width]


@pytest.mark.parametrize(("width", "colors"), [(60, True), (100, True), (200, True), (100, False)])
async def test_a_wrapped_line_is_never_read_as_a_line_of_the_diff(width: int, colors: bool) -> None:
    room = (width - 1) // 2 if width >= 100 and colors else width
    ends = ("- return 1", "+ return 2", "return 3")
    long = [f"    x = 1  # {'x' * (room - 16)} {end}" for end in ends]
    hunk = msgspec.structs.replace(LOGIN, before=("    x = 0",), after=tuple(long))
    plan = EffectDone("build/plan", msgspec.structs.replace(PLAN, hunks=(hunk,)))
    person = Sitting("q", width=width, colors=colors)
    await person.approving.approve(fold_session(*EVENTS_UNTIL_PLAN[:-2], plan, EVENTS_UNTIL_PLAN[-1]), APPROVE)
    start = max(line.find("+     x = 1") for line in _lines(person))
    lines = [line[start:].rstrip() for line in _lines(person)]
    signs = [line[:2] for line in lines if "return" in line or line.startswith("+     x = 1")]
    assert signs == ["+ ", "↳ "] * 3
    assert max(map(len, _lines(person))) <= width


def _lines(person: Sitting) -> Sequence[str]:
    return person.seen.splitlines()


async def test_without_colours_nothing_but_text_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Sitting("a", "q", colors=False)
    await bare.hold()
    assert "\x1b" not in bare.out.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    grey = Sitting("a", "q")
    await grey.hold()
    assert "\x1b[3" not in grey.out.getvalue()
    assert "- def login(user):" in grey.seen


async def test_control_sequences_in_a_hunk_are_shown_and_not_executed() -> None:
    person = Sitting("a", "q")
    await person.hold()
    assert r"# Notes \x1b[2J\u202egnp.exe" in person.seen
    assert "\x1b[2J" not in person.out.getvalue()
    assert "\u202e" not in person.out.getvalue()


async def test_a_person_can_ask_the_table_about_a_hunk_and_goes_on_where_they_were() -> None:
    person = Sitting("y", "t", "Why forget?", "y", "y", "y")
    assert await person.hold() == ApprovalAnswer("ask", "src/login.py#2: Why forget?")
    assert await person.hold() == ApprovalAnswer("all")
    assert person.seen.count("hunk 1 of 2") == 1


async def test_a_gate_that_takes_no_more_questions_offers_none() -> None:
    person = Sitting("t", "q")
    await person.hold(msgspec.structs.replace(APPROVE, options=("all", "some", "none")))
    assert "t" not in person.asked[0].partition("[")[2].partition(";")[0].split(", ")


async def test_an_unknown_key_lists_the_keys_and_enter_alone_does_nothing() -> None:
    person = Sitting("", "x", "q")
    assert await person.hold() == ApprovalAnswer("none")
    assert person.seen.count("y: approve the hunk") == 2
    assert person.seen.count("Invalid key: x.") == person.seen.count("Invalid key") == 1


async def test_yes_and_no_are_understood_as_words_and_no_at_the_end_writes_nothing() -> None:
    assert await Sitting("Yes", "no", "no", "yes").hold() == some(LOGOUT.id, NOTES.id)
    assert await Sitting("yes", "r", "no").hold() == ApprovalAnswer("none")


@pytest.mark.parametrize("left", [("n", "n", "n"), ("d", "d")])
async def test_rejecting_every_hunk_is_confirmed_once_more(left: Sequence[str]) -> None:
    person = Sitting(*left, "n", "y", "", "q")
    assert await person.hold() == ApprovalAnswer("none")
    assert [question.partition(" [")[0] for question in person.asked[len(left) :]] == [
        "No hunk is approved. Quit without writing?"
    ] * 4
    assert await Sitting(*left, "b", "r", "y").hold() == ApprovalAnswer("all")


async def test_the_prompt_says_in_advance_which_choices_are_kept() -> None:
    person = Sitting(None)
    await person.hold()
    first = " ".join(person.seen.partition("1 of 3")[0].split())
    assert "q quit without writing." in first
    assert "Ctrl-C leaves the gate open and discards your choices and edits." in first


async def test_own_text_that_does_not_parse_is_reported_and_can_be_edited_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '# mine' >> \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    person = Sitting("e", "e", "n", "n", "y")
    person.wrong = ["src/login.py would not parse."]
    answer = await person.hold()
    assert "would not parse. Press e to continue editing." in person.seen
    assert person.seen.count("+ # mine") >= 3
    assert answer is not None
    assert msgspec.json.decode(answer.text, type=HunkChoice).edited[LOGIN.id].endswith("# mine\n# mine\n")


@pytest.mark.feature("S3.86")
async def test_a_choice_is_undone_with_u_even_when_all_hunks_are_decided() -> None:
    person = Sitting("y", "n", "u", "y", "n", "u", "y", "y")
    assert await person.hold() == ApprovalAnswer("all")
    assert "u" not in person.asked[0].partition("[")[2].partition(";")[0].split(", ")


@pytest.mark.feature("S3.86")
async def test_p_shows_in_full_who_requested_a_hunk_and_who_wrote_it() -> None:
    person = Sitting("p", "n", "d", "p", "q")
    assert await person.hold() == ApprovalAnswer("none")
    screen = person.seen
    assert "p: " not in screen, "the keys are explained only on request"
    assert screen.index("Requested by D-12.") < screen.index("Written by ada and bob.")


async def test_a_person_can_begin_again() -> None:
    person = Sitting("a", "n", "b", "n", "n", "y", "y")
    assert await person.hold() == some(LOGIN.id, LOGOUT.id)


async def test_a_terminal_that_goes_away_answers_nothing() -> None:
    assert await Sitting("y").hold() is None


async def test_a_hunk_can_be_rewritten_in_an_editor_that_no_shell_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\ncase "$2" in *.py) sed -i s/check/recheck/ "$2";; esac\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", f"'{editor}' $(touch;{tmp_path}/pwned)")
    person = Sitting("e", "n", "n", "y")
    answer = await person.hold()
    assert answer is not None
    choice = msgspec.json.decode(answer.text, type=HunkChoice)
    assert choice.edited == {LOGIN.id: "\n".join((*LOGIN.after, "")).replace("check", "recheck")}
    assert choice.rejected == (LOGOUT.id, NOTES.id)
    assert os.listdir(tmp_path) == ["my editor"]


async def test_an_editor_that_changes_nothing_or_is_not_there_settles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    assert await (person := Sitting("e", "q")).hold() == ApprovalAnswer("none")
    assert "The hunk is unchanged." in person.seen
    for broken in ("no-such-editor", "vi 'unclosed"):
        monkeypatch.setenv("VISUAL", broken)
        assert await (person := Sitting("e", "q")).hold() == ApprovalAnswer("none")
        assert f"The editor {broken} cannot be started" in person.seen


@pytest.mark.feature("S4.104")
async def test_a_permanent_loss_needs_its_phrase_typed_exactly() -> None:
    assert await Sitting("lose NOTES.md").approving.confirm(PLAN.phrase) == ApprovalAnswer("confirm", "lose NOTES.md")
    person = Sitting("y", "confirm", "")
    assert await person.approving.confirm(PLAN.phrase) == ApprovalAnswer("no")
    assert person.seen.count("The phrase does not match.") == 2
    assert await Sitting().approving.confirm(PLAN.phrase) is None
