"""Roundtable as people install it has no pytest: what tests the repository has are run all the same, or it is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.core.reasons import Reason
from roundtable.report.reasons import describe_reasons, reason_sentence
from tests.doors.coding_seats import CALC, RIGHT, TEST, WRONG, coder
from tests.doors.command_line import PATIENCE, Cli
from tests.repository import git, repository, sandbox, write

PYTEST = "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
TASK = "Make double() in calc.py double"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with everything that ours has, but pytest."""
    folder = tmp_path_factory.mktemp("installed")
    python = Path(sys.executable).resolve()
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(python)
    site_packages = next(Path(folder) for folder in sys.path if folder.endswith("site-packages"))
    packages = folder / "lib" / site_packages.parent.name / "site-packages"
    packages.mkdir(parents=True)
    for path in site_packages.iterdir():
        if "pytest" not in path.name:
            (packages / path.name).symlink_to(path)
    return folder / "bin/python"


@pytest.fixture
async def cli(tmp_path: Path) -> Cli:
    """A person whose path leads to no Python that works."""
    await sandbox()
    cli = Cli(tmp_path)
    (cli.work / ".git").rmdir()
    broken = tmp_path / "broken"
    write(broken, dict.fromkeys(("python", "python3", "pytest"), "#!/bin/sh\nexit 1\n"))
    for path in broken.iterdir():
        path.chmod(0o755)
    cli.env["PATH"] = f"{broken}:{cli.env['PATH']}"
    return cli


def ran(cli: Cli, python: Path, *args: str) -> str:
    """What a command prints that this Python runs, whatever its exit code."""
    process = subprocess.run(
        [python, "-m", "roundtable", *args],
        cwd=cli.work,
        env=cli.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in process.stderr, process.stderr
    return process.stdout


def built(cli: Cli, python: Path, line: str, extra: str = "") -> dict[str, Any]:
    """How a build ends whose one seat writes this line, and more files."""
    seats = cli.script(ada=coder(line, extra))
    output = ran(cli, python, "build", TASK, *seats, "--all", "--headless", "--json")
    facts = [json.loads(line) for line in output.splitlines()]
    decision = next(fact["decision"] for fact in facts if fact["kind"] == "decision.made")
    notices = [reason_sentence(reason) for reason in msgspec.convert(decision.get("notices", []), tuple[Reason, ...])]
    return {
        **decision,
        "how": describe_reasons(msgspec.convert(decision["how"], tuple[Reason, ...])),
        "notices": notices,
    }


def test_without_pytest_the_tests_are_reported_as_not_run(cli: Cli, installed: Path) -> None:
    repository(cli.work, {"calc.py": CALC, "tests/test_calc.py": PYTEST, ".gitignore": "s.json\n"})
    decision = built(cli, installed, RIGHT)
    assert RIGHT in (cli.work / "calc.py").read_text()
    (notice,) = [notice for notice in decision["notices"] if "tests/test_calc.py" in notice]
    assert "are not run: they need pytest, which is not installed for any Python on this machine." in notice
    assert "[checks]" in notice, "what to do"
    assert "There are no checks" not in decision["how"]


def test_a_python_with_pytest_on_the_path_runs_the_tests(cli: Cli, installed: Path) -> None:
    repository(cli.work, {"calc.py": CALC, "test_calc.py": PYTEST, ".gitignore": "s.json\n"})
    cli.env["PATH"] = f"{Path(sys.executable).parent}:{cli.env['PATH']}"
    decision = built(cli, installed, WRONG)
    assert decision["outcome"] == "deadlock"
    assert "The check tests failed with exit code 1: " in decision["how"]
    assert "assert 6 == 4" in decision["how"], "what it said"
    assert (cli.work / "calc.py").read_text() == CALC
    decision = built(cli, installed, RIGHT)
    assert "Written as commit" in decision["how"]
    assert "after 1 check on the merged tree" in decision["how"]


@pytest.mark.parametrize(
    "files",
    [
        {"tests/test_calc.py": TEST},
        {"tests/test_calc.py": TEST, "tests/__init__.py": ""},
        {"tests/unit/test_calc.py": TEST},
        {"test_calc.py": TEST, "tests/test_half.py": TEST.replace("Doubles", "Halves")},
    ],
    ids=["a folder", "a package", "a folder in a folder", "here and there"],
)
def test_tests_without_pytest_are_run_by_unittest_in_every_folder(
    cli: Cli, installed: Path, files: dict[str, str]
) -> None:
    repository(cli.work, {"calc.py": CALC, ".gitignore": "s.json\n", **files})
    assert "AssertionError: 6 != 4" in built(cli, installed, WRONG)["how"]
    decision = built(cli, installed, RIGHT)
    assert (decision["outcome"], decision["notices"]) == ("reached", ["Only one seat wrote this change."])
    assert RIGHT in git(cli.work, "show", "HEAD:calc.py")


def test_a_check_that_cannot_run_fails_no_candidate_and_is_reported(cli: Cli, installed: Path) -> None:
    repository(cli.work, {"calc.py": CALC, ".gitignore": "s.json\n"})
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(f'[checks]\ntests = ["{installed}", "-m", "pytest"]\n')
    decision = built(cli, installed, RIGHT)
    assert "evidence: No test shows that the change does what the task asks: " in decision["how"]
    decision = built(cli, installed, RIGHT, extra=f"\n```python test_more.py\n{TEST}```\n")
    assert RIGHT in (cli.work / "calc.py").read_text()
    (notice, _) = decision["notices"]
    assert "The check tests also fails without any change, so its result says nothing about a change: " in notice
    assert "No module named pytest" in notice


def test_the_doctor_says_which_tests_cannot_be_run(cli: Cli, installed: Path) -> None:
    repository(cli.work, {"calc.py": CALC, "test_calc.py": PYTEST})
    output = ran(cli, installed, "doctor")
    assert "Tests such as test_calc.py are not run: they need pytest" in " ".join(output.split())
