"""A project is run by its own plan in a real sandbox: programs, services, and their failures."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.effects import CheckOutcome
from roundtable.core.sandbox import Limit
from roundtable.workshop.project.run_plan import RunPlan, choose_project_run_plan, parse_project_run_plan
from roundtable.workshop.project.run_project import run_project_plan
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from tests.servers.index_server import IndexServer

SERVICE = """
from http.server import BaseHTTPRequestHandler, HTTPServer
import os, sys, time

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["GREETING"].encode())

print("starting")
time.sleep(0.5)
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
CHECK = """
import urllib.request
said = urllib.request.urlopen("http://127.0.0.1:8000/").read().decode()
print("it said", said)
assert said == "good day", said
"""
SERVICE_PLAN = """
[run]
argv = ["python", "app.py"]
seconds = 40

[check]
argv = ["python", "check.py"]

[env]
PORT = 8000
GREETING = "good day"
"""


async def run_files(
    folder: Path, files: Mapping[str, str], *, stop_at: str = "", install: bool = False
) -> tuple[tuple[CheckOutcome, ...], list[str]]:
    """Run these files by their plan; the person stops the run at a given output line."""
    tree = folder / "project"
    tree.mkdir()
    for path, text in files.items():
        (tree / path).write_text(text)
    plan = choose_project_run_plan(files)
    assert isinstance(plan, RunPlan), plan
    sandbox = await find_sandbox(SandboxSettings(use="bubblewrap"))
    assert not isinstance(sandbox, str), sandbox
    lines, stop = list[str](), asyncio.Event()

    def tell(line: str) -> None:
        lines.append(line)
        if stop_at and stop_at in line:
            stop.set()

    return await run_project_plan(sandbox, tree, plan, tell, stop, install=install), lines


@pytest.mark.feature("S0.52")
async def test_a_program_is_judged_by_its_exit_code(tmp_path: Path) -> None:
    files = {
        "main.py": "import sys\nprint('hello', sys.argv[1])",
        "run.toml": '[run]\nargv = ["python", "main.py", "x"]',
    }
    (run,), lines = await run_files(tmp_path, files)
    assert (run.name, run.code, run.output) == ("run", 0, "hello x")
    assert lines == ["hello x"]


@pytest.mark.feature("S0.52")
async def test_a_service_is_judged_by_its_check_and_then_stopped(tmp_path: Path) -> None:
    (run, check), lines = await run_files(tmp_path, {"app.py": SERVICE, "check.py": CHECK, "run.toml": SERVICE_PLAN})
    assert (run.name, run.code) == ("run", 0)
    assert "starting" in run.output
    assert "GET /" in run.output
    assert (check.name, check.code, check.output) == ("check", 0, "it said good day")
    assert not any("roundtable-" in line for line in lines)


async def test_a_service_whose_check_fails_has_failed(tmp_path: Path) -> None:
    plan = SERVICE_PLAN.replace("good day", "go away")
    (run, check), _ = await run_files(tmp_path, {"app.py": SERVICE, "check.py": CHECK, "run.toml": plan})
    assert (run.code, check.code) == (0, 1)
    assert check.output.endswith("AssertionError: go away")


async def test_a_service_that_crashes_at_start_is_not_checked(tmp_path: Path) -> None:
    files = {"app.py": "raise SystemExit('no database')", "check.py": CHECK, "run.toml": SERVICE_PLAN}
    (run,), _ = await run_files(tmp_path, files)
    assert (run.name, run.code, run.output) == ("run", 1, "no database")


async def test_a_service_that_crashes_during_its_check_has_failed(tmp_path: Path) -> None:
    broken = SERVICE.replace("self.send_response(200)", "os._exit(3)")
    (run, check), _ = await run_files(tmp_path, {"app.py": broken, "check.py": CHECK, "run.toml": SERVICE_PLAN})
    assert run.code == 3
    assert check.code == 1


async def test_a_program_that_succeeded_before_its_check_is_still_checked(tmp_path: Path) -> None:
    plan = '[run]\nargv = ["sh", "-c", "echo made >made.txt"]\n[check]\nargv = ["cat", "made.txt"]\n'
    (run, check), _ = await run_files(tmp_path, {"run.toml": plan})
    assert (run.code, check.code, check.output) == (0, 0, "made")


async def test_an_endless_check_is_stopped_with_the_service(tmp_path: Path) -> None:
    plan = SERVICE_PLAN.replace("seconds = 40", "seconds = 4")
    (run, check), _ = await run_files(
        tmp_path, {"app.py": SERVICE, "check.py": "import time\ntime.sleep(900)", "run.toml": plan}
    )
    assert run.code == 0
    assert (check.code, check.limit) == (None, Limit.TIME)


async def test_an_endless_program_times_out_and_its_output_is_kept(tmp_path: Path) -> None:
    files = {
        "main.py": "import time\nprint('at work')\ntime.sleep(900)",
        "run.toml": "run.argv = 'python main.py'\nrun.seconds = 2",
    }
    (run,), _ = await run_files(tmp_path, files)
    assert (run.code, run.limit) == (None, Limit.TIME)
    assert run.output == "at work\nStopped after 2 seconds."


async def test_a_plan_that_starts_endless_processes_is_limited(tmp_path: Path) -> None:
    plan = '[run]\nargv = ["sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 60"]\n'
    (run,), _ = await run_files(tmp_path, {"run.toml": plan})
    assert not run.passed
    assert run.limit is Limit.PROCESSES


@pytest.mark.feature("S0.57")
async def test_output_is_shown_live_and_the_person_can_stop_the_program(tmp_path: Path) -> None:
    program = "import time\nfor number in range(900):\n    print('step', number)\n    time.sleep(0.1)\n"
    (run,), lines = await run_files(tmp_path, {"main.py": program}, stop_at="step 3")
    assert lines[:4] == ["step 0", "step 1", "step 2", "step 3"]
    assert "step 899" not in lines
    assert run.code is None
    assert run.output.splitlines()[3] == "step 3"
    assert {line.partition(" ")[0] for line in run.output.splitlines()} == {"step"}, "nothing but its own words"


async def test_files_that_a_program_writes_are_discarded_with_its_run(tmp_path: Path) -> None:
    program = (
        "import sqlite3\nsqlite3.connect('todo.db').execute('create table t (a)')\nprint(open('todo.db','rb').read(6))"
    )
    (run,), _ = await run_files(tmp_path, {"main.py": program})
    assert run.passed, run.output
    assert sorted(path.name for path in (tmp_path / "project").iterdir()) == ["main.py"]


SCRATCH = """
import asyncio
from roundtable.workshop.repo.scratch_trees import open_scratch_working_trees

async def main():
    async with open_scratch_working_trees() as folder:
        (folder / "project").mkdir()
        print(folder, flush=True)
        await asyncio.sleep(900)

asyncio.run(main())
"""


def test_the_next_run_removes_only_folders_of_killed_runs(tmp_path: Path) -> None:
    started: list[subprocess.Popen[str]] = []

    def folder() -> Path:
        """Return the folder of another Roundtable process."""
        argv, apart = (sys.executable, "-c", SCRATCH), {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(argv, env=apart, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return Path(process.stdout.readline().strip())

    try:
        live_folder, orphaned_folder = folder(), folder()
        started[1].kill()
        started[1].wait()
        assert orphaned_folder.exists()
        newest = folder()
        assert sorted(tmp_path.iterdir()) == sorted((live_folder, newest))
    finally:
        for process in started:
            process.kill()
            process.communicate()


# --- the install step ----------------------------------------------------------------------------


GREETING = "from greeting import words\nimport socket\nprint(words)\nsocket.create_connection(('127.0.0.1', PORT), 2)\n"


def build_wheel() -> bytes:
    """Build a package with one module."""
    data = io.BytesIO()
    info = "greeting-1.0.dist-info"
    with zipfile.ZipFile(data, "w") as zip:
        zip.writestr("greeting.py", "words = 'from the index'\n")
        zip.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        zip.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        zip.writestr(f"{info}/RECORD", "")
    return data.getvalue()


def create_installing_project(index: IndexServer) -> dict[str, str]:
    """Return a project that installs a package, and then tries to reach the package index when it is run."""
    plan = f"""
[install]
argv = ["python", "-m", "pip", "install", "--index-url", "{index.base}/simple", "greeting"]
[run]
argv = ["python", "main.py"]
"""
    port = index.base.rpartition(":")[2]
    return {"run.toml": plan, "main.py": GREETING.replace("PORT", port)}


async def test_only_the_install_step_has_a_network(tmp_path: Path) -> None:
    with IndexServer({"greeting-1.0-py3-none-any.whl": build_wheel()}) as index:
        (install, run), lines = await run_files(tmp_path, create_installing_project(index), install=True)
        assert install.passed, install.output
        assert "Successfully installed greeting-1.0" in install.output
        assert any("greeting" in line for line in lines)
        assert run.output.startswith("from the index\n")
        assert "ConnectionRefusedError" in run.output
        assert run.code == 1


async def test_without_approval_the_install_step_is_skipped(tmp_path: Path) -> None:
    with IndexServer({"greeting-1.0-py3-none-any.whl": build_wheel()}) as index:
        (run,), _ = await run_files(tmp_path, create_installing_project(index))
        assert "No module named 'greeting'" in run.output
        assert index.requests == []


async def test_a_program_is_not_run_if_its_install_step_fails(tmp_path: Path) -> None:
    plan = '[install]\nargv = ["sh", "-c", "echo nothing there; exit 4"]\n[run]\nargv = ["true"]\n'
    (install,), _ = await run_files(tmp_path, {"run.toml": plan}, install=True)
    assert (install.name, install.code, install.output) == ("install", 4, "nothing there")


# --- the plan ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '[run]\nargv = ["python", "app.py"]',
        '[run]\nargv = "python app.py"',
        '[run]\ncommand = "python app.py"',
        'run = "python app.py"',
        'run = ["python", "app.py"]',
        'argv = ["python", "app.py"]',
        '```toml\n[run]\nargv = ["python", "app.py"]\n```',
    ],
)
def test_common_variants_of_a_plan_are_understood(text: str) -> None:
    plan = parse_project_run_plan(text)
    assert isinstance(plan, RunPlan), plan
    assert plan == RunPlan(("python", "app.py"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no program"),
        ("[run]", "names no program"),
        ("[run]\nargv = []", "names no program"),
        ("[run]\nargv = [['a']]", "names no program"),
        ("[run]\nargv = 7", "names no program"),
        ("[run]\nargv = ['']", "names no program"),
        ("[run]\nargv = 'pip install x && python app.py'", "uses shell syntax"),
        ("[run]\nargv = 'python \"app.py'", "is not closed"),
        ("[run]\nargv = ['a\\u0000b']".replace("'", '"'), "has an invalid character"),
        ("run = 7", "is not a section"),
        ("[run]\nargv = ['a']\nseconds = 'soon'", "is not a valid time"),
        ("[run]\nargv = ['a']\nseconds = nan", "is not a valid time"),
        ("[run]\nargv = ['a']\nseconds = -1", "is not a valid time"),
        ("[run]\nargv = ['a']\nports = [80]", "unknown key in [run]: ports"),
        ("[run]\nargv = ['a']\n[deploy]\nto = 'prod'", "unknown section: deploy"),
        ("[run]\nargv = ['a']\n[env]\n'A B' = 1", "is not a valid variable"),
        ("[run]\nargv = ['a']\n[env]\nA = [1]", "is not a valid variable"),
        ("To run it, type python app.py.", "is not valid TOML"),
        ("a = " + "[" * 5_000, "nested too deeply"),
        ("#" * 20_000, "characters"),
    ],
)
def test_an_invalid_plan_is_explained_with_a_correction(text: str, told: str) -> None:
    wrong = parse_project_run_plan(text)
    assert isinstance(wrong, str)
    assert wrong.startswith("run.toml is invalid: ")
    assert told in wrong


WORDS = st.sampled_from(
    ["run", "check", "install", "env", "argv", "seconds", "[", "]", "=", '"', "'", "\n", "{", ",", "#"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def toml_texts(value: object) -> str:
    """Generate TOML as a model might write it, valid or not."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml_texts, cast('list[object]', value)))}]"
    return repr(value)


@given(st.lists(WORDS | st.text(max_size=5), max_size=30).map(" ".join))
def test_any_text_is_parsed_without_a_crash(text: str) -> None:
    assert isinstance(parse_project_run_plan(text), RunPlan | str)


@given(st.dictionaries(st.sampled_from(["argv", "seconds", "command", "env", "port"]), VALUES, max_size=4))
def test_any_values_are_parsed_without_a_crash(values: dict[str, object]) -> None:
    for section in ("run", "env", "check"):
        text = "\n".join([f"[{section}]", *(f"{name} = {toml_texts(value)}" for name, value in values.items())])
        assert isinstance(parse_project_run_plan(text), RunPlan | str)


@pytest.mark.parametrize(
    ("files", "run", "install"),
    [
        ({"main.py": ""}, "python main.py", ""),
        ({"app.py": "", "requirements.txt": "flask\n"}, "python app.py", "python -m pip install -r requirements.txt"),
        ({"package.json": '{"scripts": {"start": "node x.js"}}'}, "npm start", ""),
        ({"index.js": "", "package.json": '{"dependencies": {"a": "1"}}'}, "node index.js", "npm install"),
        ({"package.json": "[1]", "server.js": ""}, "node server.js", ""),
        ({"todo.py": "", "test_todo.py": ""}, "python todo.py", ""),
        ({"todo.py": "", "todo_test.py": "", "conftest.py": ""}, "python todo.py", ""),
        ({"run.sh": ""}, "sh run.sh", ""),
    ],
)
def test_without_a_plan_the_usual_program_is_run_and_reported(files: dict[str, str], run: str, install: str) -> None:
    plan = choose_project_run_plan(files)
    assert isinstance(plan, RunPlan)
    assert (" ".join(plan.run), " ".join(plan.install)) == (run, install)
    assert f"`{run}`" in plan.guess


def test_a_project_with_unknown_start_is_reported() -> None:
    assert choose_project_run_plan({"a.py": "", "b.py": ""}) == (
        "Roundtable does not know how to run this project. "
        "Add a run.toml that contains a [run] section with argv = [...]."
    )
