"""Models write projects: whatever a plan names, the run sees none of the person's files and cannot fake its result."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.sandbox import Job
from roundtable.workshop.project.run_plan import RunPlan, parse_project_run_plan
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.sandbox.output_lines import OutputLines
from tests.repository import sandbox
from tests.workshop.test_project_runs import run_files

TOKEN = "the-token-of-the-person"


@pytest.fixture
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of the person's own programs on PATH, with private files next to them."""
    me = tmp_path / "me"
    for folder in ("bin", "lib"):
        (me / folder).mkdir(parents=True)
        (me / folder / "token.txt").write_text(TOKEN)
    write_script(me / "bin" / "known", "#!/bin/sh\necho known\n")
    monkeypatch.setenv("PATH", f"{me / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return me


def write_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("program", ["/usr/bin/python3", "../me/bin/known", "a/../../me/bin/known", ".."])
@pytest.mark.parametrize("section", ["run", "check", "install"])
def test_a_plan_cannot_name_a_program_outside_the_project(program: str, section: str) -> None:
    wrong = parse_project_run_plan(
        "\n".join(f'{name} = ["{argument}"]' for name, argument in {"run": "true", section: program}.items())
    )
    assert isinstance(wrong, str)
    assert f"[{section}] names a program outside the project. Write its bare name" in wrong


def test_a_plan_may_name_a_program_of_the_project() -> None:
    plan = parse_project_run_plan('run = ["tools/../start.sh"]')
    assert isinstance(plan, RunPlan), plan


async def test_a_named_program_does_not_expose_the_persons_folders(tmp_path: Path, private_folders: Path) -> None:
    tokens = f"{private_folders}/bin/token.txt {private_folders}/lib/token.txt"
    plan = f'run = ["sh", "-c", "cat {tokens}; true"]\ncheck = ["known"]\n'
    (run, check), _ = await run_files(tmp_path, {"run.toml": plan})
    assert TOKEN not in run.output
    assert check.code == 127


async def test_a_scripts_first_line_cannot_expose_a_folder(tmp_path: Path, private_folders: Path) -> None:
    box, project = await sandbox(), tmp_path / "project"
    project.mkdir()
    write_script(project / "start", f"#!{private_folders}/bin/known\n")
    write_script(project / "look", f"#!{private_folders}/bin/python\n")
    for named in ("./start", "./look"):
        result = await run_sandbox_job(
            box, Job(("sh", "-c", f"cat {private_folders}/bin/token.txt"), str(project), programs=(named,))
        )
        assert TOKEN.encode() not in result.output
        assert (await run_sandbox_job(box, Job((named,), str(project)))).code != 0, (
            "nor where a person's check is that script"
        )


async def test_a_home_folder_with_an_interpreter_is_not_exposed(
    tmp_path: Path, private_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(private_folders))
    write_script(private_folders / "bin" / "python", "#!/bin/sh\necho my own python\n")
    plan = f'run = ["python"]\ncheck = ["cat", "{private_folders}/bin/token.txt"]\n'
    (run, check), _ = await run_files(tmp_path, {"run.toml": plan})
    assert run.output == "my own python"
    assert TOKEN not in check.output


FORGER = """
import glob, os, sys, time
words = [word for path in glob.glob('/proc/[0-9]*/cmdline') for word in open(path, 'rb').read().split(b'\\0')]
mark = next((word.decode() for word in words if word.startswith(b'roundtable-') and len(word) == 27), 'roundtable-')
def say():
    print(f'\\n{mark} check\\n{mark} checked 0 0\\nall good', flush=True)
"""
KILLER = "say()\nos.kill(os.getppid(), 9)\ntime.sleep(60)\n"
SURVIVOR = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    say()
    time.sleep(0.05)
"""


@pytest.mark.parametrize("way", [KILLER, SURVIVOR], ids=["kills who watches it", "outlives its end"])
async def test_a_service_cannot_fake_its_check(tmp_path: Path, way: str) -> None:
    plan = 'run = ["python", "app.py"]\ncheck = ["false"]\n'
    steps, _ = await run_files(tmp_path, {"run.toml": plan, "app.py": FORGER + way})
    assert not all(step.passed for step in steps), steps
    assert not [step for step in steps if step.name == "check" and step.passed]


NUMBERS = [
    "1" + "0" * 400,
    "1" + "0" * 5_000,
    "-1" + "0" * 400,
    "0x" + "f" * 5_000,
    "1e999",
    "-inf",
    "nan",
    "1_0",
    "0o7",
]
ODD = [
    *NUMBERS,
    '"1e999"',
    "2020-13-45",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "true",
    "{}",
    "[]",
    "'''\n'''",
    '"\\u202e"',
]


@pytest.mark.parametrize("number", NUMBERS[:4])
def test_a_number_with_too_many_digits_is_refused(number: str) -> None:
    for text in (f"seconds = {number}", f"[env]\nPORT = {number}", f"[check]\nargv = ['a', {number}]"):
        plan = parse_project_run_plan(f"[run]\nargv = ['a']\n{text}\n")
        assert isinstance(plan, RunPlan) or plan.startswith("run.toml is invalid: ")
    assert isinstance(parse_project_run_plan(f"[run]\nargv = ['a']\nseconds = {number}"), str)


@given(st.lists(st.sampled_from(ODD), min_size=4, max_size=4))
def test_odd_values_are_parsed_without_a_crash(values: list[str]) -> None:
    seconds, word, port, install = values
    text = f"[run]\nargv = ['a', {word}]\nseconds = {seconds}\n[env]\nPORT = {port}\n[install]\nargv = ['b', {install}]"
    assert isinstance(parse_project_run_plan(text), RunPlan | str)


@pytest.mark.parametrize("word", ["x" * 1_001, "a\\u001b[2Kb", "a\\nb", "a\\u202eb", "a\\u00a0b"])
def test_an_unreadable_install_step_is_refused(word: str) -> None:
    wrong = parse_project_run_plan(f'run = ["a"]\ninstall = ["sh", "-c", "{word}"]\n')
    assert isinstance(wrong, str)
    assert "or an invisible one. Write an argv that a person can read." in wrong


def test_endless_empty_lines_use_bounded_memory() -> None:
    def tell(line: str) -> None:
        assert line == ""

    lines = OutputLines(tell)
    tracemalloc.start()
    try:
        for _ in range(1_000):
            lines(b"\n" * 1_000)
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_plan_must_not_set_path() -> None:
    plan = parse_project_run_plan("[run]\nargv = ['python', 'main.py']\n[env]\nPATH = '/app/bin'\n")
    assert plan == ("run.toml is invalid: [env] must not set PATH. Name programs by their path instead.")
