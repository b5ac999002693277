"""The socket that other processes listen to is closed whenever the session ends."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path

from roundtable.app.runs.live_socket import LiveServer
from roundtable.engine.feed import Feed


async def test_closing_the_live_server_during_setup_leaves_no_socket(tmp_path: Path) -> None:
    path = tmp_path / "live" / "s.sock"
    server = LiveServer(path, "s", Feed())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with server, asyncio.timeout(60):
            while not path.exists():  # noqa: ASYNC110  # no event tells of the step in which the socket is made
                await asyncio.sleep(0)
        del server
        gc.collect()
    assert [str(warning.message) for warning in told] == []
    assert not path.exists()
