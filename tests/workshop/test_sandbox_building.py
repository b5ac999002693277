"""What an engine is asked to build and run, seen from a program that stands in for one and writes down its commands."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.effects.run_program import ProjectRunner
from roundtable.core.changeset import DraftFile
from roundtable.core.effects import RunProject
from roundtable.core.sandbox import Exit, Output
from roundtable.engine.feed import Feed
from roundtable.store.in_memory import InMemoryStore
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.project.run_container import SEVERAL_SERVICES_NOTE, run_project_container
from roundtable.workshop.project.run_plan import RunPlan
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.image_build import ImageBuild, build_and_run_image, plan_image_build
from roundtable.workshop.sandbox.selection import SandboxSettings, find_sandbox

SCRIBE = """#!/bin/sh
echo "$*" >>"$HOME/asked"
case "$*" in
  "context inspect"*) echo unix:///nowhere;;
  "image inspect "*elsewhere*) exit 1;;
  "inspect --format {{.State.Running}}"*) [ ! -f "$HOME/works" ] || echo true;;
  *" up "*) for file; do case "$file" in *.json) cat "$file" >"$HOME/over";; esac; done
            [ ! -f "$HOME/works" ] || sleep 60;;
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
async def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContainerEngine:
    (tmp_path / "docker").write_text(SCRIBE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = await ContainerEngine.find("docker")
    assert isinstance(found, ContainerEngine)
    (tmp_path / "asked").unlink()
    return found


async def said(engine: ContainerEngine, files: dict[str, str]) -> tuple[str, Exit | Output]:
    """Everything it said, and its end."""
    *words, end = [it async for it in build_and_run_image(await allowed(engine, files))]
    return b"".join(it.data for it in words if isinstance(it, Output)).decode(), end


async def allowed(engine: ContainerEngine, files: dict[str, str]) -> ImageBuild:
    """These files, which nothing stands against."""
    build = await plan_image_build(engine, files)
    assert isinstance(build, ImageBuild)
    return build


async def refused(engine: ContainerEngine, files: dict[str, str]) -> str:
    """Why these files are not built."""
    build = await plan_image_build(engine, files)
    assert isinstance(build, str)
    return build


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


@pytest.mark.feature("S0.56")
async def test_a_dockerfile_alone_is_built_and_then_run_and_both_without_a_network(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    words, end = await said(engine, {"Dockerfile": DOCKERFILE})
    build, run, *cleaning = (it for it in asked(tmp_path) if not it.startswith(("inspect", "image")))
    assert build.startswith("build --network none ")
    assert run.startswith("run --name roundtable-")
    assert " --network none --read-only --cap-drop ALL " in run
    assert [it.split()[0] for it in cleaning] == ["rm", "rmi"]
    assert (words, isinstance(end, Exit) and end.code) == ("", 0), "one service needs no warning"


@pytest.mark.feature("S0.56", "S0.65")
async def test_a_compose_file_goes_before_a_dockerfile_and_says_what_several_services_may_need(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    build = await allowed(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    ran = await run_project_container(build, "", lambda _: None, asyncio.Event())
    assert ran.notes == (
        "A single service builds and runs reliably. Services that wait for each other may need your help.",
    )
    *_, up, down = asked(tmp_path)
    assert " up --build " in up
    assert " down --volumes " in down
    assert not any(it.startswith(("build", "run")) for it in asked(tmp_path))


async def test_every_service_is_bounded_and_reaches_only_the_others(engine: ContainerEngine, tmp_path: Path) -> None:
    await said(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    over: dict[str, Any] = json.loads((tmp_path / "over").read_text())
    assert over["networks"] == {"default": {"internal": True}, "front": {"internal": True}}
    assert list(over["services"]) == ["web", "db"]
    for service in over["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["mem_limit"] == service["memswap_limit"] > 0
    assert {name: it["pull_policy"] for name, it in over["services"].items()} == {"web": "build", "db": "never"}
    assert over["services"]["web"]["build"] == {"network": "none"}
    assert "build" not in over["services"]["db"], "what is only fetched is not built"


@pytest.mark.feature("S0.62", "S0.63")
async def test_what_the_scan_finds_is_never_brought_before_the_engine(engine: ContainerEngine, tmp_path: Path) -> None:
    outside = COMPOSE.replace("image: base", "image: base\n    network_mode: bridge")
    why = await refused(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": outside})
    assert why.startswith("The project was not built. docker-compose.yml, line 7: ")
    assert asked(tmp_path) == []


@pytest.mark.feature("S0.62")
async def test_an_image_that_is_not_here_is_not_fetched_and_the_person_is_told_how_to(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    assert await refused(engine, {"Dockerfile": "FROM elsewhere.example/python:3 AS base\nFROM base\n"}) == (
        "The project was not built. The image elsewhere.example/python:3 is missing on this machine, "
        "and nothing is downloaded without being asked for. "
        "Run `docker pull elsewhere.example/python:3` yourself, then run the project again."
    )
    assert asked(tmp_path) == ["image inspect elsewhere.example/python:3"]


MANY = """# syntax=docker/dockerfile:1
FROM --platform=linux/amd64 one AS first
RUN --mount=type=bind,from=two,source=/a,target=/a ls /a?from=me
ONBUILD COPY --from=three /a /b
FROM first
COPY --from=first /a /b
COPY --from=0 /a /b
FROM scratch
COPY --chown=1 --from="four" /a /b
COPY --from=-five /a /b
"""


async def test_every_image_that_a_build_would_take_from_must_be_here(engine: ContainerEngine, tmp_path: Path) -> None:
    why = await refused(engine, {"Dockerfile": MANY, "other/Dockerfile": "FROM never\n"})
    assert [it.rpartition(" ")[2] for it in asked(tmp_path)] == ["docker/dockerfile:1", "one", "two", "three", "four"]
    assert "The image -five is missing on this machine" in why, "what is no name of an image is nowhere"
    assert "docker pull" not in why


async def test_the_images_of_a_compose_file_and_of_all_it_may_build_must_be_here(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    files = {"compose.yaml": COMPOSE.replace("image: base", "image: db"), "web/Dockerfile": "FROM elsewhere\n"}
    assert "`docker pull elsewhere`" in await refused(engine, files)
    assert asked(tmp_path) == ["image inspect db", "image inspect elsewhere"]


async def test_a_service_is_asked_in_its_own_container_whatever_the_project_calls_it(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    named = COMPOSE.replace("build: .", "build: .\n    container_name: somebody-elses")
    files = {"Dockerfile": DOCKERFILE, "compose.yaml": named}
    (tmp_path / "works").touch()
    build = await allowed(engine, files)
    ran = await run_project_container(build, RunPlan(("x",), check=("ask-it",)), lambda _: None, asyncio.Event())
    assert [(it.name, it.code) for it in ran.steps] == [("run", 0), ("check", 0)]
    over: dict[str, Any] = json.loads((tmp_path / "over").read_text())
    called = over["services"]["web"]["container_name"]
    assert called.startswith("roundtable-")
    assert f"exec {called} ask-it" in asked(tmp_path)


async def test_what_ends_in_its_container_before_it_could_be_checked_has_not_passed(engine: ContainerEngine) -> None:
    build = await allowed(engine, {"Dockerfile": DOCKERFILE})
    ran = await run_project_container(build, RunPlan(("x",), check=("ask-it",)), lambda _: None, asyncio.Event())
    assert not ran.passed
    assert ran.steps[-1].output == "The program ended before the check could run."


@pytest.mark.feature("S0.65")
async def test_a_project_is_looked_through_once_before_it_is_built_and_the_honest_word_is_said_once(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    store, root = InMemoryStore(), tmp_path / "root"
    root.mkdir()
    files = {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE}
    draft = await DraftStore(store).save([DraftFile(path, None, text.encode()) for path, text in files.items()])
    running = ProjectRunner(store, Feed(), SandboxSettings("docker"), find_sandbox)
    ran = await running.run("session/execution/1/run", root, RunProject(draft))
    assert ran.notes == (SEVERAL_SERVICES_NOTE,)
    assert ran.steps[0].output == ""
    assert asked(tmp_path).count("image inspect base") == 1
