"""Real agents that edit files: in the folder they were given, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from roundtable.core.values import Reply
from roundtable.voices.fault_server import FaultServer
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import collect_events, last_event, make_request
from tests.real.test_agents import BIN, NAMES, isolate_network, real
from tests.repository import git, repository

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _alone() -> None:
    isolate_network()


@pytest.fixture
async def server() -> AsyncGenerator[FaultServer, None]:
    async with FaultServer(key=SECRET) as server:
        server.behave = "write"
        yield server


@pytest.fixture
def home() -> Generator[Path]:
    """A home that is not in a temporary folder: there, codex would not set up the sandbox it writes in."""
    with TemporaryDirectory(dir=BIN.parents[1]) as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", NAMES)
async def test_an_agent_that_edits_files_writes_in_its_own_folder(
    server: FaultServer, home: Path, tmp_path: Path, name: str
) -> None:
    place = repository(tmp_path / "place", {"README.md": "# Here\n"})
    server.target = str(place / "written.txt")
    end = last_event(
        await collect_events(
            real(name, server, home, temporary=tmp_path), make_request(timeout=60, workplace=str(place))
        )
    )
    assert isinstance(end, Reply), end
    assert git(place, "status", "--porcelain") == "?? written.txt\n"


@pytest.mark.parametrize("name", NAMES)
async def test_an_agent_that_edits_files_cannot_write_elsewhere(
    server: FaultServer, home: Path, tmp_path: Path, name: str
) -> None:
    place = repository(tmp_path / "place", {"README.md": "# Here\n"})
    elsewhere = repository(tmp_path / "elsewhere", {"README.md": "# There\n"})
    server.target = str(elsewhere / "written.txt")
    end = last_event(
        await collect_events(
            real(name, server, home, temporary=tmp_path), make_request(timeout=60, workplace=str(place))
        )
    )
    assert isinstance(end, Reply), end
    assert len([request for request in server.seen if request.behaviour == "write"]) > 1, "it was told to write"
    assert git(elsewhere, "status", "--porcelain") == ""
    assert git(place, "status", "--porcelain") == ""
