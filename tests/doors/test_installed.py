"""How the program gets onto a machine, and where it runs."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from roundtable import __version__
from roundtable.app.desk import Setup

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "src"


@pytest.mark.feature("S2.13")
def test_an_editable_install_gives_the_command_and_runs_the_source_tree() -> None:
    installed = distribution("roundtable-engine")
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    assert origin["dir_info"] == {"editable": True}
    command = Path(sys.executable).with_name("roundtable")
    process = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert process.stdout == f"roundtable {__version__}\n"


@pytest.mark.feature("S2.14")
def test_it_runs_from_the_source_tree_without_being_installed(tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    version = tmp_path / "src" / "roundtable" / "__init__.py"
    version.write_text(version.read_text().replace(__version__, "0.0.0+tree"))
    environment = {**os.environ, "PYTHONPATH": "src", "ROUNDTABLE_HOME": str(tmp_path / "home")}
    for words, expected in (
        (["--version"], "roundtable 0.0.0+tree"),
        (["list", "--json"], '{"v"'),
        (["--help"], "Usage:"),
    ):
        process = subprocess.run(
            [sys.executable, "-m", "roundtable", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stdout.replace(" ", "").replace("\n", "").startswith(expected.replace(" ", ""))


@pytest.mark.feature("S1.106")
def test_it_runs_without_message_broker_workflow_server_or_vector_database() -> None:
    requirements = distribution("roundtable-engine").requires or []
    names = {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}
    assert not [
        name for name in names if re.search("kafka|temporal|chroma|pinecone|qdrant|weaviate|milvus|faiss", name)
    ]
    services = {"psycopg", "nats-py", "redis", "celery", "litestar", "uvicorn"}
    for requirement in requirements:
        if re.split(r"[^\w.-]", requirement)[0].lower() in services:
            assert "extra ==" in requirement, "only who asks for it gets a service"


@pytest.mark.feature("S2.50")
def test_the_package_declares_python_3_11_or_newer_on_linux_and_macos() -> None:
    stated = distribution("roundtable-engine").metadata
    assert stated["Requires-Python"] == ">=3.11"
    assert {"Operating System :: MacOS", "Operating System :: POSIX :: Linux"} <= set(
        stated.get_all("Classifier") or ()
    )
    assert sys.version_info >= (3, 11)


@pytest.mark.feature("S2.50")
def test_every_source_file_can_be_read_by_python_3_11() -> None:
    for path in SOURCES.rglob("*.py"):
        ast.parse(path.read_text(), str(path), feature_version=(3, 11))


def test_the_command_is_printed_as_it_can_be_typed_if_it_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = Path(sys.executable).parent
    for folder, path, command in (
        (scripts.parent.parent, "/usr/bin:/bin", f"{scripts.relative_to(scripts.parent.parent)}/roundtable"),
        (tmp_path, "/usr/bin:/bin", f"{scripts}/roundtable"),
        (tmp_path, f"{scripts}:/usr/bin:/bin", "roundtable"),
    ):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PATH", path)
        assert Setup.typed_command() == command
        process = subprocess.run(
            ["sh", "-c", f"{Setup.typed_command()} --version"], capture_output=True, text=True, check=True
        )
        assert process.stdout == f"roundtable {__version__}\n"


def test_the_install_commands_of_the_readme_name_existing_extras() -> None:
    text = (ROOT / "README.md").read_text().partition("## Install\n")[2].partition("\n## ")[0]
    parts = distribution("roundtable-engine").metadata.get_all("Provides-Extra") or ()
    assert "`.venv/bin/roundtable`" in text
    extras = {part for parts in re.findall(r"'\.\[([\w,]+)\]'", text) for part in parts.split(",")}
    assert extras == {"local", "mcp"}
    assert extras | {"keychain"} <= set(parts)
    assert Setup.install_command("mcp") == f"{sys.executable} -m pip install --editable '{ROOT}[mcp]'"
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        assert "roundtable-engine[" not in page.read_text(), "it is on no index"
