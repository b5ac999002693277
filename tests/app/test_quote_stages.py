"""The cost estimate of a meeting in stages, compared with sessions in which everything goes wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.cost.quote import STAGES_NOTICE, MeetingQuote
from roundtable.app.desk import Roundtable
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.stage_lists import ShippedStages
from roundtable.app.settings.places import Places
from roundtable.core.effects import ProjectSplit
from roundtable.core.replies.file_changes import LONG_FILE_BYTES
from roundtable.core.session import Session
from roundtable.core.stages import Stage, encode_session_stages
from roundtable.core.values import Limits, Seat
from roundtable.live.event_lines import live_decision_lines
from roundtable.report.costs import build_cost_report
from roundtable.report.html import render_session_page
from roundtable.report.transcript import render_transcript
from tests.repository import repository, sandbox

NAMES = ("claude", "gpt", "gemini")
SHORT = 400
"""Tokens of the longest answer, so that a whole project is written in no time."""

OPEN = "DISCUSS:\n- Whether it is to be so\n- Or otherwise"
TAKEN = "CONSENSUS: BASE=candidate-A. INCORPORATE: none\nMUST_FIX:\n- Say what is wrong with an empty title."
FILES = {
    seat: {
        "main.py": f'import sys\n\nprint("{seat} cannot do it.")\nsys.exit(1)\n',
        "run.toml": '[run]\nargv = ["python3", "main.py"]\n',
    }
    for seat in NAMES
}
"""A program that never works."""


def padded(text: str, tokens: int = SHORT) -> str:
    """Pad a text to the maximum length of an answer."""
    return "Word after word. " * ((tokens * 4 - len(text)) // 17) + f"\n\n{text}"


def found(*places: str) -> str:
    findings = [
        {"place": place, "severity": "critical", "wrong": f"Wrong {place}.", "proof": "", "language": ""}
        for place in places
    ]
    return f"I looked.\n```json\n{json.dumps({'findings': findings})}\n```"


def wrote(files: dict[str, str]) -> str:
    return "\n".join(f"### {path}\n```\n{text}```\n" for path, text in files.items())


def seats(folder: Path, turns: list[dict[str, Any]]) -> tuple[Seat, ...]:
    """Return three seats with the same answers and rulings."""
    script = folder / "script.json"
    script.write_bytes(msgspec.json.encode({"turns": turns}))
    return tuple(Seat(name, (f"script:{script}",)) for name in NAMES)


async def held(desk: Roundtable, agenda: Agenda) -> tuple[MeetingQuote, Session]:
    """Quote an agenda and run it; return the quote and the session."""
    before = await desk.meetings.quote(agenda)
    session = await desk.meetings.open(agenda)
    await desk.meetings.run(session)
    return before, await desk.sessions.get(session)


def agenda(stages: tuple[Stage, ...], table: tuple[Seat, ...], **settings: Any) -> Agenda:
    answers = {"stages": "continue", "rerun": "yes", "deliver": "later"}
    told = {"stages": encode_session_stages(stages), **settings}
    limits = Limits(retries=0)
    return Agenda("A to-do list.", table, meeting="sdlc", settings=told, limits=limits, answers=answers, headless=True)


def within(quoted: MeetingQuote, session: Session) -> None:
    """Check that no seat and no total exceeded the quote."""
    bill = build_cost_report(session)
    assert bill.total.calls <= quoted.calls.most
    assert bill.total.tokens <= quoted.tokens.most
    for row, said in zip(bill.seats, quoted.seats, strict=True):
        assert row.used.input_tokens <= said.input_tokens.most
        assert row.used.output_tokens <= said.output_tokens.most


async def test_seven_stages_in_which_everything_fails_stay_within_their_quote(tmp_path: Path) -> None:
    await sandbox()
    judged = {
        "requirements/*": OPEN,
        "architecture/*": OPEN,
        "code-review/2": OPEN,
        "code-review/3": "CONSENSUS: CRITICAL: F1",
        "*/3": TAKEN,
        "*": OPEN,
    }
    said = {"*-chunk": found("main.py:3"), "*-fix": "I would rather not.", "*-refine": "I would rather not."}
    turns = [{"round": f"{round}-judge", "text": padded(text)} for round, text in judged.items()]
    turns += [{"round": round, "text": padded(text)} for round, text in said.items()]
    for round in ("*-write", "*-analyse"):
        turns += [{"round": round, "seat": seat, "text": padded(wrote(FILES[seat]))} for seat in NAMES]
    turns.append({"round": "*", "text": padded("I think so.")})
    stages = tuple(msgspec.structs.replace(stage, tokens=SHORT) for stage in ShippedStages.load().stages)
    (tmp_path / "work").mkdir()
    async with await Roundtable.open(tmp_path / "work", Places(tmp_path / "home", tmp_path / "home")) as desk:
        quoted, session = await held(desk, agenda(stages, seats(tmp_path, turns)))
    within(quoted, session)
    asked = {name.rpartition("/")[2].partition("-")[2] for name in session.rounds}
    assert asked == {
        *("draft", "discuss", "judge", "judge-2", "judge-3", "write", "refine"),
        *("chunk", "look", "fix", "analyse"),
    }, "nothing of what can go wrong is left out"
    assert quoted.calls.most == len(NAMES) * 2 * (2 * 6 + 3 * 7 + 5 + 3 * 7), "each with its judges, and mended once"
    assert quoted.notices == (STAGES_NOTICE,)
    told = [
        render_transcript(session),
        render_session_page(session),
        "\n".join(line.text for line in live_decision_lines(session, "last")),
    ]
    assert all("DEGRADED: read the notices first." in text and "0 of 0" not in text for text in told), (
        "nobody counts votes here"
    )


def module(number: int) -> str:
    """Return seven kilobytes of code that imports the next module."""
    lines = (f"def step_{number}_{at}(value):\n    return value * {at} + {number}\n\n\n" for at in range(120))
    return f"from shop.part_{(number + 1) % 120} import *\n\n\n{''.join(lines)}"


FOUND_NOTHING = {"round": "*-chunk", "text": found()}
FOUND_EVERYWHERE = [
    *(
        {"round": "*-chunk", "contains": f"def step_{number}_0(", "text": found(f"shop/part_{number}.py:4")}
        for number in range(120)
    ),
    {"round": "*/*-judge", "contains": "I still think so.", "text": "CONSENSUS:\nCRITICAL: F1 and all others"},
    {"round": "*-judge", "text": OPEN},
    {"round": "*-look", "text": "I still think so."},
    {"round": "*-fix", "text": "I would rather not."},
]


@pytest.mark.parametrize("turns", [[FOUND_NOTHING], FOUND_EVERYWHERE], ids=["nothing", "everything"])
async def test_a_review_of_120_files_costs_what_was_quoted(tmp_path: Path, turns: list[dict[str, Any]]) -> None:
    files = {f"shop/part_{number}.py": module(number) for number in range(120)}
    folder = repository(tmp_path / "big", files)
    review = next(stage for stage in ShippedStages.load().stages if stage.kind == "review")
    async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as desk:
        quoted, session = await held(desk, agenda((review,), seats(tmp_path, turns), existing=True))
    (cut,) = (result for result in session.results.values() if isinstance(result, ProjectSplit))
    bill = build_cost_report(session).total
    assert quoted.calls.likely == pytest.approx(3 * len(cut.chunks) + 1, rel=0.2)
    assert quoted.calls.likely <= bill.calls + 1
    within(quoted, session)
    if turns == [FOUND_NOTHING]:
        assert quoted.tokens.likely == pytest.approx(bill.tokens, rel=0.35)
    else:
        asked = Counter(name.rpartition("-")[2] for name in session.rounds)
        assert asked == {"chunk": len(cut.chunks), "judge": 2, "look": 1, "fix": len(cut.chunks)}


async def test_the_project_files_that_a_stage_reads_are_quoted(tmp_path: Path) -> None:
    review = next(stage for stage in ShippedStages.load().stages if stage.kind == "review")
    table = seats(tmp_path, [FOUND_NOTHING])
    quotes: list[MeetingQuote] = []
    for number in (1, 40):
        folder = repository(tmp_path / str(number), {f"shop/part_{part}.py": module(part) for part in range(number)})
        async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as desk:
            quotes.append(await desk.meetings.quote(agenda((review,), table, existing=True)))
    small, large = quotes
    assert large.calls.likely > small.calls.likely
    added = sum(len(module(part)) for part in range(1, 40)) / 4
    assert large.seats[1].input_tokens.likely - small.seats[1].input_tokens.likely >= added


WINDOWS = """[endpoints.lab]
base_url = "http://127.0.0.1:9/v1"
key = "none"
local = true
context = { large = 200_000, small = 12_000 }
"""


async def test_known_context_windows_bound_the_quoted_parts_and_prompts(tmp_path: Path) -> None:
    places = Places(tmp_path / "home", tmp_path / "home")
    places.config.mkdir(parents=True)
    places.user_config.write_text(WINDOWS)
    folder = repository(tmp_path / "work", {f"shop/part_{number}.py": module(number) for number in range(20)})
    review = next(stage for stage in ShippedStages.load().stages if stage.kind == "review")
    async with await Roundtable.open(folder, places) as desk:
        large, small = [
            await desk.meetings.quote(agenda((review,), (Seat("claude", (f"lab:{size}",)),), existing=True))
            for size in ("large", "small")
        ]
    assert large.calls.likely == 2, "all of it at once, and a judge"
    assert small.calls.likely > 10
    assert large.seats[0].input_tokens.most <= large.calls.most * 200_000
    assert small.seats[0].input_tokens.most <= small.calls.most * 12_000


@pytest.mark.parametrize("meeting", ["build", "sdlc"])
async def test_a_quote_includes_the_instructions_for_the_expected_file_format(tmp_path: Path, meeting: str) -> None:
    table, quotes = seats(tmp_path, []), list[MeetingQuote]()
    stages = tuple(stage for stage in ShippedStages.load().stages if stage.name == "development")
    for size in (LONG_FILE_BYTES, LONG_FILE_BYTES + 1):
        folder = repository(tmp_path / str(size), {"long.txt": "x" * size})
        told = agenda(stages, table, existing=True)
        if meeting == "build":
            told = Agenda("Make it shorter.", table, meeting="build", files=("long.txt",))
        async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as desk:
            quotes.append(await desk.meetings.quote(told))
    whole, in_parts = (quote.seats[1].input_tokens.likely for quote in quotes)
    assert in_parts - whole > 40, "how parts are written has to be told besides"
