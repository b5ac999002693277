"""What an engine is asked to build and run, seen from a program that stands in for one and writes down its commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.sandbox import Exit, Output
from roundtable.workshop.sandbox.building import HONEST, built_and_run
from roundtable.workshop.sandbox.engines import Engine

SCRIBE = """#!/bin/sh
echo "$*" >>"$HOME/asked"
case "$*" in
  "context inspect"*) echo unix:///nowhere;;
  *" up "*) for file; do case "$file" in *.json) cat "$file" >"$HOME/over";; esac; done;;
esac
"""
DOCKERFILE = "FROM base\nCMD echo hello\n"
COMPOSE = """services:
  web:
    build: .
    networks: [front]
  db:
    image: base
networks:
  front: {}
"""


@pytest.fixture
async def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    (tmp_path / "docker").write_text(SCRIBE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = await Engine.find("docker")
    assert isinstance(found, Engine)
    (tmp_path / "asked").unlink()
    return found


async def said(engine: Engine, files: dict[str, str]) -> tuple[str, Exit | Output]:
    """Everything it said, and its end."""
    *words, end = [it async for it in built_and_run(engine, files)]
    return b"".join(it.data for it in words if isinstance(it, Output)).decode(), end


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


@pytest.mark.feature("S0.56")
async def test_a_dockerfile_alone_is_built_and_then_run_and_both_without_a_network(
    engine: Engine, tmp_path: Path
) -> None:
    words, end = await said(engine, {"Dockerfile": DOCKERFILE})
    build, run, *cleaning = (it for it in asked(tmp_path) if not it.startswith("inspect"))
    assert build.startswith("build --network none ")
    assert run.startswith("run --name roundtable-")
    assert " --network none --read-only --cap-drop ALL " in run
    assert [it.split()[0] for it in cleaning] == ["rm", "rmi"]
    assert (words, isinstance(end, Exit) and end.code) == ("", 0), "one service needs no warning"


@pytest.mark.feature("S0.56", "S0.65")
async def test_a_compose_file_goes_before_a_dockerfile_and_says_what_several_services_may_need(
    engine: Engine, tmp_path: Path
) -> None:
    words, _ = await said(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    assert words == HONEST
    assert words == "One service builds and runs reliably. Several that wait for each other may need your help.\n"
    *_, up, down = asked(tmp_path)
    assert " up --build " in up
    assert " down --volumes " in down
    assert not any(it.startswith(("build", "run")) for it in asked(tmp_path))


async def test_every_service_is_bounded_and_reaches_only_the_others(engine: Engine, tmp_path: Path) -> None:
    await said(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    over: dict[str, Any] = json.loads((tmp_path / "over").read_text())
    assert over["networks"] == {"default": {"internal": True}, "front": {"internal": True}}
    assert list(over["services"]) == ["web", "db"]
    for service in over["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["mem_limit"] == service["memswap_limit"] > 0
    assert over["services"]["web"]["build"] == {"network": "none"}
    assert "build" not in over["services"]["db"], "what is only fetched is not built"


@pytest.mark.feature("S0.62", "S0.63")
async def test_what_the_scan_finds_is_never_brought_before_the_engine(engine: Engine, tmp_path: Path) -> None:
    outside = COMPOSE.replace("image: base", "image: base\n    network_mode: bridge")
    words, end = await said(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": outside})
    assert isinstance(end, Exit)
    assert words == ""
    assert end.stopped.startswith("It was not built. docker-compose.yml, line 7: ")
    assert asked(tmp_path) == []
