"""Fixtures: a desk in a repository with one failing test, and a sandbox."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from tests.repository import sandbox
from tests.stories.slug_project import create_slug_repository


@pytest.fixture
def bench_places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home", tmp_path / "home")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return create_slug_repository(tmp_path / "code")


@pytest.fixture
def by_pytest(code: Path) -> None:
    """Remove the environment of the project, so that its tests run with the pytest of this environment."""
    shutil.rmtree(code / ".venv")


@pytest.fixture
async def bench(bench_places: Places, code: Path) -> AsyncIterator[Roundtable]:
    await sandbox()
    async with await Roundtable.open(code, bench_places) as desk:
        yield desk
