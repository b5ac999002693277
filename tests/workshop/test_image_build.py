"""The commands for building and running images, recorded by a program that replaces the engine."""

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
from roundtable.workshop.project.image_build import ImageBuild, build_and_run_project_image, plan_project_image_build
from roundtable.workshop.project.run_container import SEVERAL_SERVICES_NOTE, run_project_container
from roundtable.workshop.project.run_plan import RunPlan
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.selection import SandboxSettings, find_sandbox

RECORDING_ENGINE = """#!/bin/sh
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
    (tmp_path / "docker").write_text(RECORDING_ENGINE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    container_engine = await ContainerEngine.find("docker")
    assert isinstance(container_engine, ContainerEngine)
    (tmp_path / "asked").unlink()
    return container_engine


async def collect_output(engine: ContainerEngine, files: dict[str, str]) -> tuple[str, Exit | Output]:
    """Return all output of the engine and its exit."""
    *words, end = [event async for event in build_and_run_project_image(await plan_accepted_build(engine, files))]
    return b"".join(output.data for output in words if isinstance(output, Output)).decode(), end


async def plan_accepted_build(engine: ContainerEngine, files: dict[str, str]) -> ImageBuild:
    """Return the build of files that must be accepted."""
    build = await plan_project_image_build(engine, files)
    assert isinstance(build, ImageBuild)
    return build


async def explain_refusal(engine: ContainerEngine, files: dict[str, str]) -> str:
    """Return why these files are not built."""
    build = await plan_project_image_build(engine, files)
    assert isinstance(build, str)
    return build


def engine_commands(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


@pytest.mark.feature("S0.56")
async def test_a_dockerfile_is_built_and_run_without_a_network(engine: ContainerEngine, tmp_path: Path) -> None:
    words, end = await collect_output(engine, {"Dockerfile": DOCKERFILE})
    build, run, *cleaning = (
        command for command in engine_commands(tmp_path) if not command.startswith(("inspect", "image"))
    )
    assert build.startswith("build --network none ")
    assert run.startswith("run --name roundtable-")
    assert " --network none --read-only --cap-drop ALL " in run
    assert [command.split()[0] for command in cleaning] == ["rm", "rmi"]
    assert (words, isinstance(end, Exit) and end.code) == ("", 0), "one service needs no warning"


@pytest.mark.feature("S0.56", "S0.65")
async def test_a_compose_file_takes_precedence_and_several_services_get_a_warning(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    build = await plan_accepted_build(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    ran = await run_project_container(build, "", lambda _: None, asyncio.Event())
    assert ran.notes == (
        "A compose file with one service runs reliably. Services that wait for each other may need your help.",
    )
    *_, up, down = engine_commands(tmp_path)
    assert " up --build " in up
    assert " down --volumes " in down
    assert not any(command.startswith(("build", "run")) for command in engine_commands(tmp_path))


async def test_every_service_has_limits_and_reaches_only_the_other_services(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    await collect_output(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": COMPOSE})
    over: dict[str, Any] = json.loads((tmp_path / "over").read_text())
    assert over["networks"] == {"default": {"internal": True}, "front": {"internal": True}}
    assert list(over["services"]) == ["web", "db"]
    for service in over["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["mem_limit"] == service["memswap_limit"] > 0
    assert {name: service["pull_policy"] for name, service in over["services"].items()} == {
        "web": "build",
        "db": "never",
    }
    assert over["services"]["web"]["build"] == {"network": "none"}
    assert "build" not in over["services"]["db"], "what is only fetched is not built"


@pytest.mark.feature("S0.62", "S0.63")
async def test_a_file_that_the_scan_refuses_never_reaches_the_engine(engine: ContainerEngine, tmp_path: Path) -> None:
    outside = COMPOSE.replace("image: base", "image: base\n    network_mode: bridge")
    reason = await explain_refusal(engine, {"Dockerfile": DOCKERFILE, "docker-compose.yml": outside})
    assert reason.startswith("The project was not built. docker-compose.yml, line 7: ")
    assert engine_commands(tmp_path) == []


@pytest.mark.feature("S0.62")
async def test_a_missing_image_is_not_pulled_and_the_command_to_pull_it_is_shown(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    assert await explain_refusal(engine, {"Dockerfile": "FROM elsewhere.example/python:3 AS base\nFROM base\n"}) == (
        "The project was not built. The image elsewhere.example/python:3 is missing on this machine, "
        "and Roundtable does not download images. "
        "Run `docker pull elsewhere.example/python:3` yourself, then run the project again."
    )
    assert engine_commands(tmp_path) == ["image inspect elsewhere.example/python:3"]


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


async def test_every_base_image_of_a_build_must_be_present(engine: ContainerEngine, tmp_path: Path) -> None:
    reason = await explain_refusal(engine, {"Dockerfile": MANY, "other/Dockerfile": "FROM never\n"})
    assert [command.rpartition(" ")[2] for command in engine_commands(tmp_path)] == [
        "docker/dockerfile:1",
        "one",
        "two",
        "three",
        "four",
    ]
    assert "The image -five is missing on this machine" in reason, "what is no name of an image is nowhere"
    assert "docker pull" not in reason


async def test_all_images_of_a_compose_file_must_be_present(engine: ContainerEngine, tmp_path: Path) -> None:
    files = {"compose.yaml": COMPOSE.replace("image: base", "image: db"), "web/Dockerfile": "FROM elsewhere\n"}
    assert "`docker pull elsewhere`" in await explain_refusal(engine, files)
    assert engine_commands(tmp_path) == ["image inspect db", "image inspect elsewhere"]


async def test_a_service_is_checked_in_its_own_container_whatever_its_name(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    named = COMPOSE.replace("build: .", "build: .\n    container_name: somebody-elses")
    files = {"Dockerfile": DOCKERFILE, "compose.yaml": named}
    (tmp_path / "works").touch()
    build = await plan_accepted_build(engine, files)
    ran = await run_project_container(build, RunPlan(("x",), check=("ask-it",)), lambda _: None, asyncio.Event())
    assert [(outcome.name, outcome.code) for outcome in ran.steps] == [("run", 0), ("check", 0)]
    over: dict[str, Any] = json.loads((tmp_path / "over").read_text())
    container_name = over["services"]["web"]["container_name"]
    assert container_name.startswith("roundtable-")
    assert f"exec {container_name} ask-it" in engine_commands(tmp_path)


async def test_a_container_that_ends_before_its_check_has_failed(engine: ContainerEngine) -> None:
    build = await plan_accepted_build(engine, {"Dockerfile": DOCKERFILE})
    ran = await run_project_container(build, RunPlan(("x",), check=("ask-it",)), lambda _: None, asyncio.Event())
    assert not ran.passed
    assert ran.steps[-1].output == "The program ended before the check could run."


@pytest.mark.feature("S0.65")
async def test_a_project_is_scanned_once_before_its_build_and_the_warning_is_shown_once(
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
    assert engine_commands(tmp_path).count("image inspect base") == 1
