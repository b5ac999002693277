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
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.stages import Stage, StageEnd
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Limits
from roundtable.report.reasons import reasons_text
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


def finding(place: str, fault: str, severity: str = "critical", proof: str = "") -> dict[str, str]:
    return {"place": place, "severity": severity, "wrong": fault, "proof": proof, "language": "python"}


def findings_reply(*findings: dict[str, str]) -> str:
    return f"I looked.\n```json\n{json.dumps({'findings': findings})}\n```"


def edit_reply(path: str, search: str, replace: str) -> str:
    return f"Mended.\n\n### {path}\n```\n    reason = "F1 (the finding names no file of the project), F2 (the seat that should fix it did not answer)"
    rest = f"2 critical findings are not fixed: {reason}."
    assert rest in stage_notice_sentences(end)
    assert rest in (await desk.sessions.get(meeting.session)).gates["after-code-review"].question
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
    (end,) = list_stage_ends(await desk.sessions.get(first.session))
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
    answers = {"after-development": "continue", "after-code-review": "stop"}
    await asyncio.gather(meeting.hold("sdlc"), person(desk, meeting, answers))
    first, second = list_stage_ends(await desk.sessions.get(meeting.session))
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
    project = planted()
    folder = repository(tmp_path / "planted", {path: text.decode() for path, text in project.files.items()})
    async with await Roundtable.open(folder, Places(tmp_path / "home", tmp_path / "home")) as desk:
        meeting = DeskMeeting(desk, **{name: turns() for name in ("claude", "gpt", "gemini")})
        await meeting.hold("sdlc", "Is it sound?", settings=stage_settings(chunk=20_000))
        session = await desk.sessions.get(meeting.session)
        (cut,) = (result for result in session.results.values() if isinstance(result, ProjectSplit))
        maps = [(await desk.sessions.read_blob(chunk.map.digest)).decode() for chunk in cut.chunks if chunk.map]
        (end,) = list_stage_ends(session)
    assert (end.how, stage_notice_sentences(end)) == ("agreed", ())
    assert len(maps) == len(cut.chunks) == len(session.rounds) > 10
    assert sorted(file.name for chunk in cut.chunks for file in chunk.files) == sorted(project.files)

    files = sum(map(len, project.files.values())) / BYTES_PER_TOKEN
    shown = sum(len(map.encode()) for map in maps) / BYTES_PER_TOKEN
    for seat in ("claude", "gpt", "gemini"):
        prompts = [meeting.prompt(round, seat) for round in session.rounds]
        for path, text in project.files.items():
            assert sum(f'<context from="{path}">\n{text.decode()}' in prompt for prompt in prompts) == 1, path
        lengths = [len(prompt.encode()) / BYTES_PER_TOKEN for prompt in prompts]
        assert max(lengths) + REVIEW.tokens < 32_000, "the window of a model whose size is unknown"
        assert sum(lengths) <= 1.1 * (files + shown)

    prompts = [meeting.prompt(round, "gpt") for round in session.rounds]
    bare = [pair.replace(shown, "") for pair, shown in zip(prompts, maps, strict=True)]
    print(f"\n{len(project.files)} files of {files:,.0f} tokens in {len(prompts)} parts, {shown:,.0f} tokens of map;")
    print(f"{sum(map(len, prompts)) / BYTES_PER_TOKEN:,.0f} tokens for each seat\n")
    print(f"{'fault':<18}{'defined':<42}{'used wrongly':<42}{'with the map':<15}without")
    for fault in project.faults:
        ends = (fault.defined, fault.used)
        having, lacking = (
            sum(all(contains_end(text, end) for end in ends) for text in texts) for texts in (prompts, bare)
        )
        print(f"{fault.name:<18}{fault.defined.place:<42}{fault.used.place:<42}{f'{having} prompts':<15}{lacking}")
        assert having >= 1, fault
        assert lacking == 0, fault
