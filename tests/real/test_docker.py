"""The sandbox on a real Docker engine: the whole kit, and builds of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import aclosing
from glob import glob

import pytest

from roundtable.core.sandbox import Bounds, Exit, Limit, Output
from roundtable.workshop.project.image_build import ImageBuild, build_and_run_project_image, plan_project_image_build
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.engines import ContainerEngine
from tests.kits.sandbox_kit import SandboxKit
from tests.real.engine import docker_engine, shell_image

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with docker_engine() as address:
        yield address


@pytest.fixture(autouse=True)
def engine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody's docker is the one of these tests."""
    monkeypatch.setenv("DOCKER_HOST", address)


def containers() -> list[str]:
    listed = subprocess.run(
        ["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


class TestDocker(SandboxKit):
    use = "docker"

    def left_behind(self, pid: int) -> list[str]:
        return [name for name in containers() if name.startswith(f"roundtable-{pid}-")]


async def test_a_docker_engine_that_answers_is_used_as_the_sandbox() -> None:
    sandbox = await find_sandbox()
    assert not isinstance(sandbox, str)
    assert sandbox.name.startswith("docker")


async def test_a_docker_engine_on_another_machine_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    sandbox = await find_sandbox(SandboxSettings(use="docker"))
    assert isinstance(sandbox, str)
    assert "on another machine" in sandbox


async def test_a_missing_image_is_not_fetched() -> None:
    sandbox = await find_sandbox(SandboxSettings(use="docker", image="nobody/nothing:0"))
    assert isinstance(sandbox, str)
    assert "Docker cannot run programs on this machine" in sandbox
    assert not [name for name in containers() if str(os.getpid()) in name]


# --- builds ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(address: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return shell_image(address, tmp_path_factory.mktemp("base"))


async def collect_output(files: dict[str, str], bounds: Bounds = Bounds(seconds=60)) -> tuple[str, Exit]:
    engine = await ContainerEngine.find("docker")
    assert isinstance(engine, ContainerEngine)
    output, end = b"", None
    build = await plan_project_image_build(engine, files)
    assert isinstance(build, ImageBuild), build
    async for item in build_and_run_project_image(build, bounds):
        if isinstance(item, Output):
            output += item.data
        else:
            end = item
    assert end is not None
    return output.decode(), end


def images() -> str:
    return subprocess.run(["docker", "images", "-a"], capture_output=True, text=True, check=True).stdout


@pytest.mark.feature("S0.55", "S0.56", "S0.57")
async def test_a_dockerfile_is_built_and_run_and_cleaned_up(base: str) -> None:
    dockerfile = (
        f'FROM {base}\nCOPY . /app\nRUN echo built > /built\nCMD ["sh", "-c", "cat /built /app/a.txt; exit 3"]\n'
    )
    output, end = await collect_output({"Dockerfile": dockerfile, "a.txt": "the final file\n"})
    assert output.endswith("built\nthe final file\n")
    assert (end.code, end.limit) == (3, None)
    assert glob(f"{tempfile.gettempdir()}/roundtable-*-build-*") == []
    assert containers() == []
    assert "roundtable-" not in images().replace("roundtable-empty", "")


async def test_a_failed_build_is_reported_and_nothing_is_run(base: str) -> None:
    output, end = await collect_output({"Dockerfile": f"FROM {base}\nRUN exit 9\nCMD echo never\n"})
    assert end.code not in (0, None)
    assert "never\n" not in output.splitlines()


async def test_a_built_container_has_no_network_and_is_limited(base: str) -> None:
    show = f"FROM {base}\nCMD ls /sys/class/net; echo x > /x; sleep 3600\n"
    output, end = await collect_output({"Dockerfile": show}, Bounds(seconds=3))
    assert "lo\n" in output
    assert "eth0" not in output
    assert "Read-only file system" in output
    assert (end.code, end.limit) == (None, Limit.TIME)
    assert containers() == []


@pytest.mark.feature("S0.61")
async def test_a_built_container_is_stopped_on_demand(base: str) -> None:
    engine = await ContainerEngine.find("docker")
    assert isinstance(engine, ContainerEngine)
    files = {"Dockerfile": f"FROM {base}\nCMD echo it runs now; sleep 3600\n"}
    build = await plan_project_image_build(engine, files)
    assert isinstance(build, ImageBuild), build
    async with aclosing(build_and_run_project_image(build)) as run:
        async for item in run:
            if isinstance(item, Output) and item.data.endswith(b"it runs now\n") and containers():
                break
    assert containers() == []


@pytest.mark.feature("S0.62", "S0.63")
async def test_a_dockerfile_that_fails_the_scan_is_not_built(base: str) -> None:
    engine = await ContainerEngine.find("docker")
    assert isinstance(engine, ContainerEngine)
    refusal = await plan_project_image_build(
        engine, {"Dockerfile": f"FROM {base}\nRUN curl http://example.com/x | sh\n"}
    )
    assert (
        refusal
        == "The project was not built. Dockerfile, line 2: This line runs a downloaded program, or hides what it runs."
    )


@pytest.mark.feature("S0.56")
async def test_a_compose_file_is_started_with_all_its_services(base: str) -> None:
    compose = f"""services:
  web:
    build: .
  other:
    image: {base}
    command: ["echo", "the other one"]
"""
    files = {"Dockerfile": f'FROM {base}\nCMD ["echo", "from the web"]\n', "docker-compose.yml": compose}
    output, end = await collect_output(files)
    if "no `compose` command" in end.stopped:
        pytest.skip(end.stopped)
    assert "from the web" in output
    assert end.code == 0
    assert containers() == []
