"""A desk in a repository whose one test fails, with a sandbox to run things in."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from tests.repository import sandbox
from tests.stories.writing import slug_repository


@pytest.fixture
def bench_places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home", tmp_path / "home")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return slug_repository(tmp_path / "code")


@pytest.fixture
def by_pytest(code: Path) -> None:
    """The project has no environment of its own: its tests are run by the pytest at hand."""
    shutil.rmtree(code / ".venv")


@pytest.fixture
async def bench(bench_places: Places, code: Path) -> AsyncIterator[Roundtable]:
    await sandbox()
    async with await Roundtable.open(code, bench_places) as desk:
        yield desk
