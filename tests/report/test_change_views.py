"""The origin of every hunk in every view: who requested it, who wrote it, who approved it."""

from __future__ import annotations

from html import unescape

import msgspec
import pytest

from roundtable.core.candidate_reasons import BestCandidates
from roundtable.core.change_history import newest_session_change
from roundtable.core.changeset import HunkChoice
from roundtable.core.effects import Candidate, CandidatesTried, MoveDrafted
from roundtable.core.events import ChangeUndone, EffectDone, EffectStarted, GateAnswered, SessionOpened
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.text.sanitize import reveal_hidden_characters
from roundtable.report.change_words import describe_hunk_provenance, describe_hunk_request_origin
from roundtable.report.html import render_session_page
from roundtable.report.step_words import describe_step_result, render_step_result_lines, running_step_sentence
from roundtable.report.summary import report_session_as_data
from roundtable.report.transcript import render_transcript
from tests.doors.recorded_change import (
    CHARTER,
    EVENTS_UNTIL_PLAN,
    LOGIN,
    LOGOUT,
    NOTES,
    PLAN,
    events_after_answer,
    fold_session,
)

SOME = msgspec.json.encode(HunkChoice((NOTES.id,), {LOGOUT.id: "    forget(user, now=True)\n"})).decode()
WRITTEN = fold_session(*EVENTS_UNTIL_PLAN, *events_after_answer(GateAnswered("approve", "some", SOME, "anna")))


def test_a_hunk_names_its_request_its_writers_and_its_approver() -> None:
    change = newest_session_change(WRITTEN)
    assert change is not None
    assert [describe_hunk_provenance(WRITTEN, hunk) for hunk in change.hunks] == [
        "requested by D-12, written by ada and bob, taken (anna)",
        "requested by D-12, written by ada and bob, rewritten (anna)",
        "not requested, written by ada, left out (anna)",
    ]


def test_the_request_of_a_hunk_is_quoted() -> None:
    task = "Log in twice, and whatever else one could want of a door that opens\nMore of it."
    build = msgspec.structs.replace(CHARTER, slug="2026-11-16-log-in", question=task)
    apply = msgspec.structs.replace(build, settings={"of": "0192-ab", "position": "Use tokens"})
    asked = [("2026-11-16-log-in", build), ("0192-ab", apply), ("D-12", apply), ("", apply)]
    assert [describe_hunk_request_origin(fold_session(SessionOpened(charter)), by) for by, charter in asked] == [
        "the task “Log in twice, and whatever else one could want of a door th…”",
        "the decision “Use tokens”",
        "D-12",
        "",
    ]


def test_a_refusal_without_a_file_is_only_its_reason() -> None:
    nowhere = Refusal.of("", RefusalCode.UNREADABLE_REPLY, message="A block does not name the file it is for.")
    tried = CandidatesTried((Candidate("ada", refused=(nowhere,)),))
    assert render_step_result_lines(tried)[-1] == "  ada: A block does not name the file it is for."
    assert render_step_result_lines(MoveDrafted(refused=(nowhere,))) == [
        "Refused: A block does not name the file it is for."
    ]


def test_a_long_reason_is_shown_in_full() -> None:
    seats = tuple(f"the seat number {number}" for number in range(20))
    tried = CandidatesTried((Candidate("ada"),), how=(BestCandidates(seats, alike=True),))
    sentence = f"The candidates of {', '.join(seats[:-1])} and {seats[-1]} have the same results."
    assert render_step_result_lines(tried)[-1] == sentence
    assert describe_step_result(tried).endswith(sentence)


def test_before_the_approval_hunks_have_no_outcome() -> None:
    change = newest_session_change(fold_session(*EVENTS_UNTIL_PLAN))
    assert change is not None
    assert {hunk.state for hunk in change.hunks} == {""}
    assert change.applied is None


def test_a_no_rejects_every_hunk() -> None:
    change = newest_session_change(fold_session(*EVENTS_UNTIL_PLAN, GateAnswered("approve", "none", by="anna")))
    assert change is not None
    assert {hunk.state for hunk in change.hunks} == {"left out"}


@pytest.mark.parametrize("view", [render_transcript, render_session_page])
def test_a_document_shows_the_diff_the_checks_the_origins_and_how_to_undo_it(view: object) -> None:
    assert callable(view)
    text = str(view(WRITTEN)).replace("\\", "")
    told = ("roundtable undo u-7", "0123456789ab", "failed (1)", "logout", "not requested", "rewritten (anna)")
    assert [part for part in told if part not in text] == []
    assert "+def login(user, again=False):" in text
    assert "+    forget(user, now=True)" in text
    assert "ada's candidate had the best results." in unescape(text)


@pytest.mark.parametrize("view", [render_transcript, render_session_page])
def test_control_characters_in_a_diff_are_spelled_out(view: object) -> None:
    assert callable(view)
    text = str(view(WRITTEN))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"# Notes \x1b[2J\u202egnp.exe" in text


def test_programs_get_the_change_as_data() -> None:
    change = report_session_as_data(WRITTEN)["change"]
    assert change["applied"]["undo"] == "u-7"
    hunk = change["plan"]["hunks"][0]
    assert (hunk["id"], hunk["asked_by"], hunk["written_by"]) == (LOGIN.id, "D-12", ["ada", "bob"])
    assert (hunk["became"], hunk["approved_by"]) == ("taken", "anna")
    assert report_session_as_data(fold_session(*EVENTS_UNTIL_PLAN[:1]))["change"] is None


def test_each_step_is_described_while_it_runs_and_when_it_is_done() -> None:
    facts = [
        event
        for event in (*EVENTS_UNTIL_PLAN, *events_after_answer(GateAnswered("approve", "all")))
        if not isinstance(event, GateAnswered)
    ]
    begun = [running_step_sentence(fact.effect) for fact in facts if isinstance(fact, EffectStarted)]
    assert begun[0] == "Running the candidates of ada, bob in the sandbox."
    done = ["\n".join(render_step_result_lines(fact.result)) for fact in facts if isinstance(fact, EffectDone)]
    assert done[0].splitlines() == [
        "The candidates, best first (in bubblewrap):",
        "  Candidate  Checks  Tests   Equal to  Result",
        "  ada        1 of 1  2 of 2  nobody    passed",
        "  bob        1 of 1  1 of 2  nobody    passed",
        "  eve        –       –       –         refused",
        "  eve: ../x: ../x contains an empty, `.` or `..` component.",
        "ada's candidate had the best results.",
    ]
    assert "  src/login.py  logout  bob" in done[1]
    assert "src/login.py: 2 hunks, +5 -3." in done[2]
    assert "NOTES.md: new file, +1." in done[2]
    assert "Neither the task nor a claim requested NOTES.md#1." in done[2]
    assert "Needs your confirmation: the only copy of NOTES.md." in done[2]
    assert "  tests  failed (1)  passed" in done[3]
    assert "Written, commit 0123456789ab: src/login.py." in done[4]
    assert all(describe_step_result(fact.result) for fact in facts if isinstance(fact, EffectDone))


@pytest.mark.parametrize(
    ("line", "shown"),
    [("a\tb", "a\tb"), ("\x1b[31mred", r"\x1b[31mred"), ("x\r", r"x\r"), ("\u202eab", r"\u202eab"), ("é日", "é日")],
)
def test_a_line_of_code_hides_nothing(line: str, shown: str) -> None:
    assert reveal_hidden_characters(line) == shown


@pytest.mark.parametrize("view", [render_transcript, render_session_page])
def test_the_lines_around_a_hunk_are_shown_and_marked_as_neither_old_nor_new(view: object) -> None:
    assert callable(view)
    around = msgspec.structs.replace(LOGIN, above=("", "# --- in ---"), below=("# </pre>",))
    plan = msgspec.structs.replace(PLAN, hunks=(around,))
    events = [
        EffectDone("build/plan", plan) if event == EffectDone("build/plan", PLAN) else event
        for event in EVENTS_UNTIL_PLAN
    ]
    text = str(view(fold_session(*events)))
    assert "-# --- in ---" not in text
    assert [line for line in (" # --- in ---", "+def login(user, again=False):") if line not in text] == []
    assert (" # &lt;/pre&gt;" in text) is (view is render_session_page)


@pytest.mark.parametrize("view", [render_transcript, render_session_page])
def test_an_undone_change_is_shown_as_undone(view: object) -> None:
    assert callable(view)
    gone = ChangeUndone("u-7", ("src/login.py",), "The files are as they were.", "anna")
    text = str(
        view(fold_session(*EVENTS_UNTIL_PLAN, *events_after_answer(GateAnswered("approve", "all", by="anna")), gone))
    )
    assert "undone by anna" in text
    assert "Undo it with" not in text
