"""Fixtures that the tests of every door share."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.doors.coding_seats import open_coding_workspace
from tests.doors.command_line import Cli
from tests.repository import sandbox


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A person with a home and an empty workspace."""
    return Cli(tmp_path)


@pytest.fixture
def coding_cli(tmp_path: Path) -> Cli:
    """A person with a small repository whose tests fail, on a machine with a sandbox."""
    asyncio.run(sandbox())
    return open_coding_workspace(tmp_path)
