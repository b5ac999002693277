"""A desk in a temporary home."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.settings.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home", tmp_path / "home")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
async def desk(places: Places, workspace: Path) -> AsyncIterator[Roundtable]:
    async with await Roundtable.open(workspace, places) as desk:
        yield desk
