"""A review of a whole project: read in parts, weighed once by its words, and fixed part by part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.effects import ProjectSplit
from roundtable.core.events import SessionAmended
from roundtable.core.reasons import JudgedOwnAnswer
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import Stage, StageEnd
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Limits
from roundtable.report.reasons import describe_reasons
from roundtable.report.stage_words import stage_notice_sentences
from roundtable.workshop.edit.stored_drafts import DraftStore
from tests.planted import End, planted
from tests.repository import commit, own_python, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting, Turns

REVIEW = Stage("code-review", "Code Review", "Staff Engineer", "review", "Find what is wrong in this code.", 4096)


def filler(name: str) -> str:
    """Return correct code that is almost as long as a part."""
    return "".join(f"\n\ndef {name}_{at}(first, second):\n    return first * {at} + second\n" for at in range(40))


CART = """from shop.stock import take


def add(cart, stock, item, count):
    take(item, stock, count)
    cart[item] = cart.get(item, 0) + count
""" + filler("price")
STOCK = """def take(stock, item, count):
    stock[item] = stock[item] - count
    return stock
""" + filler("shelf")
TEST = """import unittest

from shop.stock import take


class StockTest(unittest.TestCase):
    def test_what_is_taken_is_gone(self):
        self.assertEqual(take({"pear": 3}, "pear", 2), {"pear": 1})
"""
FILES = {
    "shop/__init__.py": "# The shop.\n",
    "shop/cart.py": CART,
    "shop/stock.py": STOCK,
    "shop.toml": 'name = "shop"\n',
    "tests/__init__.py": "# Tests.\n",
    "tests/test_stock.py": TEST,
}

SWAPPED = "add gives take() of shop/stock.py its arguments the wrong way round."
SWAPPED_THERE = "take() is given its arguments the wrong way round by add in shop/cart.py."
BELOW = "take() lets the stock of an item fall below zero."
PROOF = """import sys
from shop.cart import add
try:
    add({}, {"pear": 3}, "pear", 1)
except TypeError:
    sys.exit(0)
sys.exit(1)
"""
MENDED_CART = "take(stock, item, count)"


def finding(place: str, wrong: str, severity: str = "critical", proof: str = "") -> dict[str, str]:
    return {"place": place, "severity": severity, "wrong": wrong, "proof": proof, "language": "python"}


def findings_reply(*findings: dict[str, str]) -> str:
    return f"I looked.\n```json\n{json.dumps({'findings': findings})}\n```"


def edit_reply(path: str, search: str, replace: str) -> str:
    return f"Mended.\n\n### {path}\n```\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```\n"


FIX_CART = edit_reply("shop/cart.py", "    take(item, stock, count)", f"    {MENDED_CART}")
FIX_STOCK = edit_reply(
    "shop/stock.py",
    "    stock[item] = stock[item] - count",
    '    if stock[item] < count:\n        raise ValueError("so many are not left")\n    stock[item] -= count',
)
BREAK_STOCK = edit_reply("shop/stock.py", "    stock[item] = stock[item] - count", "    stock[item] = count")
CONSENSUS = "CONSENSUS:\nCRITICAL: F1 the calls do not fit\n- F2 stock is lost\nWARNINGS: none\nCONFIRMED_CLEAN: none"


def turns(**rounds: str) -> Turns:
    """Return the turns of a seat by round, such as `chunk_1` or `judge`; without findings elsewhere."""
    named = {"chunk_1": "*/1-chunk", "chunk_2": "*/2-chunk", "fix_1": "*/1-fix", "fix_2": "*/2-fix"}
    given = [{"round": named.get(name, f"*-{name}*"), "text": text} for name, text in rounds.items()]
    return [*given, {"round": "*-chunk", "text": findings_reply()}]


SEEN = {"chunk_1": findings_reply(finding("shop/cart.py:5", SWAPPED, proof=PROOF)), "chunk_2": findings_reply()}
SEEN_THERE = findings_reply(finding("shop/stock.py:1", SWAPPED_THERE), finding("shop/stock.py:2", BELOW, "high"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Roundtable]:
    await sandbox()
    folder = repository(tmp_path / "shop", FILES)
    own_python(folder)
    async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as opened:
        yield opened


def stage_settings(*stages: Stage, **more: Any) -> dict[str, Any]:
    """Return the settings of a meeting with these stages, or with only a review."""
    return {"stages": msgspec.json.encode(stages or (REVIEW,)).decode(), "existing": True, "chunk": 1000, **more}


async def hold_review(desk: Roundtable, **seats: Turns) -> tuple[DeskMeeting, StageEnd]:
    meeting = DeskMeeting(desk, **seats)
    await meeting.hold("sdlc", "Is the shop sound?", settings=stage_settings())
    (end,) = session_stage_ends(await desk.sessions.get(meeting.session))
    return meeting, end


async def files_of(desk: Roundtable, end: StageEnd) -> dict[str, str]:
    """Return the files that a stage proposes to write."""
    return {
        file.path: (file.after or b"").decode() for file in await DraftStore(desk.parts.record).load_files(end.draft)
    }


@pytest.mark.feature("S0.31", "S0.35", "S0.36", "S0.19", "S0.37", "S0.47")
async def test_all_seats_review_every_part_a_judge_weighs_findings_once_and_fixes_are_made_by_part(
    desk: Roundtable,
) -> None:
    meeting, end = await hold_review(
        desk,
        claude=turns(**SEEN, judge=CONSENSUS, fix_1=FIX_CART, fix_2=FIX_STOCK),
        gpt=turns(chunk_2=SEEN_THERE),
        gemini=turns(),
    )
    session = await desk.sessions.get(meeting.session)
    names = [f"code-review/{round}" for round in ("1-chunk", "2-chunk", "3-judge", "1-fix", "2-fix")]
    assert list(session.rounds) == names, "no debate, one judge"
    for part in names[:2]:
        assert sorted(session.rounds[part].turns) == ["claude", "gemini", "gpt"]
    judged = meeting.prompt("code-review/3-judge", "claude")
    assert judged.count("[critical, ") == 1, "both ends of one fault are one finding"
    assert '<answer from="findings: F1">\n[critical, shop/cart.py:5]' in judged
    assert "2 of 3 found it. A program shows it." in judged
    assert '<answer from="findings: F2">\n[high, shop/stock.py:2]' in judged
    assert "def take" not in judged
    assert "cart.get" not in judged
    assert (end.how, end.judge) == ("agreed", "claude")
    assert end.text == (
        f"CRITICAL:\n- F1 [critical, shop/cart.py:5] {SWAPPED} Fixed: the program that proved it no longer reproduces "
        f"it.\n- F2 [high, shop/stock.py:2] {BELOW} Fixed."
    )
    wanted = await files_of(desk, end)
    assert sorted(wanted) == ["shop/cart.py", "shop/stock.py"]
    assert wanted["shop/cart.py"] == CART.replace("take(item, stock, count)", MENDED_CART)
    assert "so many are not left" in wanted["shop/stock.py"]
    assert [(part.path, part.seat) for part in end.took] == [("shop/cart.py", "claude"), ("shop/stock.py", "claude")]
    fixed = meeting.prompt("code-review/1-fix", "claude")
    assert "def add" in fixed
    assert "def take" not in fixed, "only the files of its part are shown to who mends it"


@pytest.mark.feature("S0.37")
async def test_a_fix_that_breaks_a_passing_check_is_discarded_and_other_fixes_are_kept(desk: Roundtable) -> None:
    _, end = await hold_review(
        desk,
        claude=turns(**SEEN, judge=CONSENSUS, fix_1=FIX_CART, fix_2=BREAK_STOCK),
        gpt=turns(chunk_2=SEEN_THERE),
    )
    assert "Not fixed: the fix was discarded because it broke tests." in end.text
    assert f"{SWAPPED} Fixed: " in end.text
    assert sorted(await files_of(desk, end)) == ["shop/cart.py"]
    assert [part.path for part in end.took] == ["shop/cart.py"]


async def test_a_fix_in_files_that_were_not_shown_is_discarded(desk: Roundtable) -> None:
    _, end = await hold_review(desk, claude=turns(**SEEN, judge=CONSENSUS, fix_1=FIX_STOCK), gpt=turns())
    assert "Not fixed: shop/stock.py is outside the allowed scope." in end.text
    assert end.draft == ""


@pytest.mark.feature("S0.19")
async def test_dismissed_findings_are_not_fixed_and_a_judge_cannot_overrule_a_program(desk: Roundtable) -> None:
    ruling = "CONSENSUS: CRITICAL: none. WARNINGS: F2 may happen. CONFIRMED_CLEAN: F1 is a matter of taste"
    meeting, end = await hold_review(
        desk, claude=turns(**SEEN, judge=ruling, fix_1=FIX_CART), gpt=turns(chunk_2=SEEN_THERE), gemini=turns()
    )
    heads = [line for line in end.text.splitlines() if line.endswith(":")]
    assert heads == ["CRITICAL:", "WARNINGS:"], "F1 was shown by a program, so it is no matter of taste"
    assert f"- F2 [high, shop/stock.py:2] {BELOW}" in end.text
    assert not any(round.endswith("2-fix") for round in (await desk.sessions.get(meeting.session)).rounds)


DISCUSS = "DISCUSS:\n- Whether F2 can happen at all"


@pytest.mark.feature("S0.36")
async def test_a_finding_that_the_judge_cannot_decide_is_discussed_once_more_by_its_words_alone(
    desk: Roundtable,
) -> None:
    seats = {name: turns(chunk_2=SEEN_THERE, look=f"{name} says that F2 can happen.") for name in ("gpt", "gemini")}
    judge = [
        {"round": "*/3-judge", "text": DISCUSS},
        {"round": "*/4-judge", "text": CONSENSUS.replace("- F2", "- and")},
    ]
    claude = [*judge, *turns(chunk_2=SEEN_THERE, look="F2 it is.", fix_2=FIX_STOCK)]
    meeting, end = await hold_review(desk, claude=claude, **seats)
    rounds = [f"code-review/{round}" for round in ("1-chunk", "2-chunk", "3-judge", "4-look", "4-judge", "2-fix")]
    assert list((await desk.sessions.get(meeting.session)).rounds) == rounds
    looked = meeting.prompt("code-review/4-look", "gpt")
    assert "Whether F2 can happen at all" in looked
    assert '<answer from="findings: F2">\n[high, shop/stock.py:2]' in looked
    assert "def take" not in looked
    assert "gemini says that F2 can happen." in meeting.prompt("code-review/4-judge", "claude")
    assert end.how == "agreed"


async def person(desk: Roundtable, meeting: DeskMeeting, given: dict[str, str]) -> None:
    """Answer these gates once they are open."""
    for gate, option in given.items():
        async with asyncio.timeout(60):
            while gate not in (session := await desk.sessions.get(meeting.session)).gates:
                await desk.sessions.wait_for_facts(meeting.session, session.seq, 1)
        await desk.gates.answer(meeting.session, gate, option)


@pytest.mark.parametrize("answer", ["mend", "leave"])
async def test_the_person_decides_whether_open_findings_are_fixed(desk: Roundtable, answer: str) -> None:
    both = turns(chunk_2=SEEN_THERE, judge=DISCUSS, look="Hm.", fix_2=FIX_STOCK)
    meeting = DeskMeeting(desk, claude=both, gpt=both)
    await meeting.open("sdlc", "Is the shop sound?", settings=stage_settings(), headless=False)
    given = {"code-review-dispute": answer, "after-code-review": "stop"}
    await asyncio.gather(meeting.hold("sdlc"), person(desk, meeting, given))
    (end,) = session_stage_ends(await desk.sessions.get(meeting.session))
    assert end.how == "chosen"
    assert sorted(await files_of(desk, end)) == (["shop/stock.py"] if answer == "mend" else [])
    assert f"[high, shop/stock.py:2] {BELOW}" in end.text


async def test_without_a_person_or_a_judge_all_findings_are_kept_and_nothing_is_fixed(
    desk: Roundtable,
) -> None:
    deaf: Turns = [{"round": "*-judge*", "fault": "overloaded"}, *turns(chunk_2=SEEN_THERE)]
    _, end = await hold_review(desk, claude=deaf, gpt=deaf)
    assert (end.how, end.draft) == ("failed", "")
    assert BELOW in end.text
    assert "claude and gpt did not answer as judge." in stage_notice_sentences(end)


LONG = filler("long") + filler("longer") + "\n\ndef last(first, second):\n    return first / second\n"
DIVIDED = "\n    return first / second"


async def hold_review_of_long_file(desk: Roundtable) -> tuple[DeskMeeting, StageEnd]:
    """Hold a review with a finding at the end of a file that is longer than a part."""
    line = LONG.splitlines().index(DIVIDED.strip("\n")) + 1
    wrong = findings_reply(finding(f"shop/long.py:{line}", "last() divides by zero.", "high"))
    fix = edit_reply("shop/long.py", DIVIDED.strip("\n"), "    return first / second if second else 0")
    sees = [{"round": "*-chunk", "contains": DIVIDED, "text": wrong}, {"round": "*-fix", "text": fix}]
    return await hold_review(desk, claude=[*sees, *turns(judge="CONSENSUS: CRITICAL: F1")], gpt=turns())


async def test_a_fix_in_a_file_longer_than_a_part_changes_only_its_lines(
    desk: Roundtable,
) -> None:
    write(desk.workspace, {"shop/long.py": LONG})
    commit(desk.workspace, "A long file")
    meeting, end = await hold_review_of_long_file(desk)
    (fixed,) = (round for round in (await desk.sessions.get(meeting.session)).rounds if round.endswith("-fix"))
    asked = meeting.prompt(fixed, "claude")
    assert DIVIDED in asked
    assert "def long_0(" not in asked
    assert await files_of(desk, end) == {"shop/long.py": LONG.replace("/ second", "/ second if second else 0")}
    assert end.all_notices == (JudgedOwnAnswer("claude", "all_answered"),)


async def test_a_fix_that_could_not_be_run_is_kept_with_a_notice(desk: Roundtable) -> None:
    write(desk.workspace, {"shop/long.py": "# To be written.\n"})
    commit(desk.workspace, "A file that will be long")
    write(desk.workspace, {"shop/long.py": LONG})
    _, end = await hold_review_of_long_file(desk)
    assert await files_of(desk, end) == {"shop/long.py": LONG.replace("/ second", "/ second if second else 0")}
    assert describe_reasons(end.notices[-1:]).startswith("Fixes could not be run: shop/long.py ")


async def test_a_review_stage_without_files_has_nothing_to_review(desk: Roundtable) -> None:
    meeting = DeskMeeting(desk, claude=turns())
    await meeting.hold("sdlc", "A shop.", settings=stage_settings(existing=False))
    (end,) = session_stage_ends(await desk.sessions.get(meeting.session))
    assert (end.how, stage_notice_sentences(end)) == ("failed", ("There is no code to review.",))
    assert meeting.voices.calls == []


async def test_a_review_names_the_parts_that_the_limits_leave_out(desk: Roundtable) -> None:
    meeting = DeskMeeting(desk, claude=turns(), gpt=turns())
    await meeting.open("sdlc", "Is the shop sound?", settings=stage_settings())
    await desk.sessions.amend(meeting.session, SessionAmended(limits=Limits(rounds=1)))
    await meeting.hold("sdlc")
    session = await desk.sessions.get(meeting.session)
    (end,) = session_stage_ends(session)
    assert list(session.rounds) == ["code-review/1-chunk"]
    assert stage_notice_sentences(end) == ("1 of 2 parts were not reviewed: the limits of the session were reached.",)


async def test_a_file_that_is_too_large_to_review_is_named_with_the_reason(desk: Roundtable) -> None:
    write(desk.workspace, {"shop/data.py": "ROWS = 1\n" * 50_000})
    commit(desk.workspace, "Data")
    _, end = await hold_review(desk, claude=turns(), gpt=turns())
    assert "Not reviewed: shop/data.py is larger than 400,000 bytes." in stage_notice_sentences(end)


async def test_a_review_names_the_seats_that_missed_a_part(desk: Roundtable) -> None:
    absent: Turns = [{"round": "*/2-chunk", "fault": "context_overflow"}, *turns()]
    _, end = await hold_review(desk, claude=turns(), gpt=absent, gemini=turns(chunk_1="Looks good to me!"))
    assert (end.how, end.text) == ("agreed", "No seat found a fault.")
    assert stage_notice_sentences(end) == ("gemini did not review part 1 of 2.", "gpt did not review part 2 of 2.")


async def test_a_fix_is_not_reported_as_fixed_if_a_program_still_shows_the_fault(desk: Roundtable) -> None:
    idle = edit_reply("shop/cart.py", "    take(item, stock, count)", "    take(item, stock, count)  # mended")
    _, end = await hold_review(desk, claude=turns(**SEEN, judge=CONSENSUS, fix_1=idle), gpt=turns())
    still = f"F1 [critical, shop/cart.py:5] {SWAPPED} Not fixed: a program still reproduces it."
    assert end.text == f"CRITICAL:\n- {still}\n- F2 stock is lost", "what the judge adds is kept, under whatever id"
    assert (
        "2 critical findings are not fixed: F1 (a program still reproduces it), F2 stock is lost."
        in stage_notice_sentences(end)
    )


async def test_the_gate_after_a_review_names_critical_findings_that_were_not_fixed(desk: Roundtable) -> None:
    lost = findings_reply(finding("elsewhere.py", "Data is lost."), finding("shop/stock.py:2", BELOW, "high"))
    judge = "CONSENSUS:\nCRITICAL: F1 data is lost\n- F2 stock is lost\nWARNINGS: none"
    claude: Turns = [{"round": "*-fix", "fault": "overloaded"}, *turns(chunk_2=lost, judge=judge)]
    meeting, end = await hold_review(desk, claude=claude, gpt=turns())
    why = "F1 (the finding names no file of the project), F2 (the seat that should fix it did not answer)"
    left = f"2 critical findings are not fixed: {why}."
    assert left in stage_notice_sentences(end)
    assert left in (await desk.sessions.get(meeting.session)).gates["after-code-review"].question
    assert "claude" not in end.text, "later stages are told of it and of nobody's name"


async def test_a_stopped_review_stage_resumes_and_asks_nothing_twice(desk: Roundtable) -> None:
    claude = turns(**SEEN, judge=CONSENSUS, fix_1=FIX_CART, fix_2=FIX_STOCK)
    stuck: list[dict[str, Any]] = [{"round": "*/2-fix", "hang": True}, *claude]
    first = DeskMeeting(desk, claude=stuck, gpt=turns(chunk_2=SEEN_THERE))
    await first.open("sdlc", "Is the shop sound?", settings=stage_settings())
    running = asyncio.create_task(first.hold("sdlc"))
    async with asyncio.timeout(60):
        while "code-review/2-fix" not in (session := await desk.sessions.get(first.session)).rounds:
            await desk.sessions.wait_for_facts(first.session, session.seq, 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    second = DeskMeeting(desk, claude=claude, gpt=turns(chunk_2=SEEN_THERE))
    second.session = first.session
    await second.hold("sdlc")
    assert list(second.voices.turns()) == ["code-review/2-fix/claude"]
    (end,) = session_stage_ends(await desk.sessions.get(first.session))
    assert sorted(await files_of(desk, end)) == ["shop/cart.py", "shop/stock.py"]


@pytest.mark.feature("S0.37")
async def test_in_a_new_project_the_author_of_a_file_fixes_it(desk: Roundtable) -> None:
    develop = Stage("development", "Development", "Engineer", "files", "Write it.", 8192, seats=("gpt",), rounds=1)
    written = "".join(f"### {path}\n```python\n{FILES[path]}```\n\n" for path in ("shop/cart.py", "shop/stock.py"))
    judge = CONSENSUS.replace("- F2 stock is lost", "")
    seats = {
        "claude": turns(chunk_1=findings_reply(finding("shop/cart.py:5", SWAPPED)), judge=judge),
        "gpt": turns(write=f"Here.\n\n{written}", judge=judge, fix_1=FIX_CART),
    }
    meeting = DeskMeeting(desk, **seats)
    await meeting.open("sdlc", "A shop.", settings=stage_settings(develop, REVIEW, existing=False), headless=False)
    given = {"after-development": "continue", "after-code-review": "stop"}
    await asyncio.gather(meeting.hold("sdlc"), person(desk, meeting, given))
    first, second = session_stage_ends(await desk.sessions.get(meeting.session))
    assert {part.seat for part in first.took} == {"gpt"}
    assert [(part.path, part.seat) for part in second.took] == [("shop/cart.py", "gpt")]
    before, after = await files_of(desk, first), await files_of(desk, second)
    assert before == {"shop/cart.py": CART, "shop/stock.py": STOCK}, "nothing of the workspace is the project's"
    assert after == {"shop/cart.py": CART.replace("take(item, stock, count)", MENDED_CART), "shop/stock.py": STOCK}


def contains_end(prompt: str, end: End) -> bool:
    """Return whether a prompt shows one end of a fault, in the file or on the map."""
    return end.text.rstrip("{: ").removeprefix("export ").strip() in prompt


@pytest.mark.feature("S0.32", "S0.35", "S0.38")
async def test_each_of_200_files_is_reviewed_once_with_both_ends_of_cross_file_faults_in_one_prompt(
    tmp_path: Path,
) -> None:
    made = planted()
    folder = repository(tmp_path / "planted", {path: text.decode() for path, text in made.files.items()})
    async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as desk:
        meeting = DeskMeeting(desk, **{name: turns() for name in ("claude", "gpt", "gemini")})
        await meeting.hold("sdlc", "Is it sound?", settings=stage_settings(chunk=20_000))
        session = await desk.sessions.get(meeting.session)
        (cut,) = (result for result in session.results.values() if isinstance(result, ProjectSplit))
        maps = [(await desk.sessions.read_blob(chunk.map.digest)).decode() for chunk in cut.chunks if chunk.map]
        (end,) = session_stage_ends(session)
    assert (end.how, stage_notice_sentences(end)) == ("agreed", ())
    assert len(maps) == len(cut.chunks) == len(session.rounds) > 10
    assert sorted(file.name for chunk in cut.chunks for file in chunk.files) == sorted(made.files)

    files = sum(map(len, made.files.values())) / BYTES_PER_TOKEN
    shown = sum(len(map.encode()) for map in maps) / BYTES_PER_TOKEN
    for seat in ("claude", "gpt", "gemini"):
        prompts = [meeting.prompt(round, seat) for round in session.rounds]
        for path, text in made.files.items():
            assert sum(f'<context from="{path}">\n{text.decode()}' in prompt for prompt in prompts) == 1, path
        lengths = [len(prompt.encode()) / BYTES_PER_TOKEN for prompt in prompts]
        assert max(lengths) + REVIEW.tokens < 32_000, "the window of a model whose size is unknown"
        assert sum(lengths) <= 1.1 * (files + shown)

    prompts = [meeting.prompt(round, "gpt") for round in session.rounds]
    bare = [pair.replace(shown, "") for pair, shown in zip(prompts, maps, strict=True)]
    print(f"\n{len(made.files)} files of {files:,.0f} tokens in {len(prompts)} parts, {shown:,.0f} tokens of map;")
    print(f"{sum(map(len, prompts)) / BYTES_PER_TOKEN:,.0f} tokens for each seat\n")
    print(f"{'fault':<18}{'defined':<42}{'used wrongly':<42}{'with the map':<15}without")
    for fault in made.faults:
        ends = (fault.defined, fault.used)
        having, lacking = (
            sum(all(contains_end(text, end) for end in ends) for text in texts) for texts in (prompts, bare)
        )
        print(f"{fault.name:<18}{fault.defined.place:<42}{fault.used.place:<42}{f'{having} prompts':<15}{lacking}")
        assert having >= 1, fault
        assert lacking == 0, fault
