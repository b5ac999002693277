"""The part of a project that a seat sees: all of it if it fits, otherwise the most relevant files and a map."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.opening.context_window import MAP_TITLE
from roundtable.app.settings.places import Places
from roundtable.core.effects import EndStage, ListProject, ProjectListed, StageEnded
from roundtable.core.events import EffectDone, EffectStarted, SessionOpened
from roundtable.core.stages import StageEnd
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Seat
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.session_ids import generate_stored_session_id
from tests.repository import repository

WINDOWS = """
[endpoints.lab]
base_url = "http://127.0.0.1:9/v1"
key = "none"
local = true
context = { large = 200_000, small = 8_000, tiny = 2_000 }
"""


def module(name: str, functions: int = 60) -> str:
    """Return a module with about fifty bytes per function."""
    return "".join(f"def {name}_{at:02}(value):\n    return value + {at:02}\n\n\n" for at in range(functions))


ALPHA = f"from app.whole import whole_07\n\nWHOLE = whole_07(1)\n\n\n{module('alpha')}"
FILES = {
    "app/alpha.py": ALPHA,
    "app/invoices.py": module("charge"),
    "app/ledger.py": f"from app.zulu import zulu_01\n\n\n{module('entry')}",
    "app/whole.py": module("whole", 900),
    "app/zulu.py": module("zulu"),
    "test/alpha.py": ALPHA,
    "README.md": "# Shop\n",
    ".env": "TOKEN=1\n",
}


@pytest.fixture
def workspace(tmp_path: Path, places: Places) -> Path:
    places.config.mkdir(parents=True)
    places.user_config.write_text(WINDOWS)
    return repository(tmp_path / "work", FILES)


async def listed(desk: Roundtable, voice: str, question: str = "Go on.", decided: str = "") -> ProjectListed:
    """Return the workspace files that a seat with this voice sees."""
    session = generate_stored_session_id()
    charter = Charter(question, (Seat("ada", (voice,)),), "sdlc", 1, settings={"existing": True})
    end = StageEnd("D1", "architecture", 1, "agreed", decided)
    facts = (SessionOpened(charter), EffectStarted("a/end", EndStage(end)), EffectDone("a/end", StageEnded(end)))
    lease, _ = await desk.parts.leases.acquire(session, lease_holder_of_this_process())
    await desk.parts.record.append_many(session, facts, lease)
    done = await desk.wiring.performer.perform(f"{session}/development/files", ListProject("", 1_000))
    assert isinstance(done, ProjectListed)
    return done


def names(shown: ProjectListed) -> list[str]:
    return [item.name for item in shown.items]


async def test_a_project_that_fits_the_context_window_is_shown_whole_and_without_a_map(desk: Roundtable) -> None:
    shown = await listed(desk, "lab:large")
    assert sorted(names(shown)) == sorted(file for file in FILES if file != ".env")
    assert (shown.left, shown.map) == ((), None)
    assert list(shown.refused) == [".env"]


async def test_files_of_a_project_that_is_too_large_are_named_and_mapped_within_the_window(desk: Roundtable) -> None:
    shown = await listed(desk, "lab:small")
    assert sorted((*names(shown), *shown.left)) == sorted(file for file in FILES if file != ".env"), (
        "every file is told of"
    )
    assert "app/whole.py" in shown.left, "it alone is larger than the window"
    assert shown.map is not None
    assert shown.map.name == MAP_TITLE
    drawn = (await desk.sessions.read_blob(shown.map.digest)).decode()
    assert "whole_07" in drawn, "what is used of a file that is not shown"
    size = sum(item.size for item in shown.items) + shown.map.size
    assert 0 < size < (8_000 - 1_000 - 2_000) * BYTES_PER_TOKEN


async def test_files_that_match_the_question_and_the_decisions_come_first(desk: Roundtable) -> None:
    assert "app/ledger.py" not in names(await listed(desk, "lab:small", "Mend zulu, alpha and charge."))
    assert "app/ledger.py" in names(await listed(desk, "lab:small", "Every entry is late."))
    assert "app/ledger.py" in names(
        await listed(desk, "lab:small", "Mend zulu, alpha and charge.", decided="R1: `ledger.py` keeps the books.")
    )


async def test_program_files_come_before_equally_relevant_tests(desk: Roundtable) -> None:
    shown = names(await listed(desk, "lab:small"))
    assert "app/alpha.py" in shown
    assert "test/alpha.py" not in shown


async def test_a_context_window_too_small_for_any_file_still_gets_the_file_names(desk: Roundtable) -> None:
    shown = await listed(desk, "lab:tiny")
    assert (shown.items, shown.map) == ((), None)
    assert len(shown.left) == len(FILES) - 1
