"""Documents that could lie: every command, option and example in them is checked against the code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from roundtable.core.changeset import ReplaceFile
from roundtable.core.refusals import RefusalKind
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.values import Outcome
from roundtable.doors.cli.main import cli
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import blind_answer

ROOT = Path(__file__).parent.parent
WRITTEN = [page for page in sorted((ROOT / "docs").glob("*.md")) if "Made by docs/generate.py" not in page.read_text()]
PAGES = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    *(path.relative_to(ROOT).as_posix() for path in WRITTEN),
]


def commands_in(text: str) -> list[list[str]]:
    """Every `roundtable …` a reader could type, joined over line continuations."""
    joined = text.replace("\\\n", " ")
    return [line.split() for line in re.findall(r"(?:^ {4}|`|\| )roundtable ([a-z][^`#|\n]*)", joined, re.M)]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_named_in_a_page_exists_with_its_options(page: str) -> None:
    context = click.Context(cli)
    for words in commands_in((ROOT / page).read_text()):
        command = cli.get_command(context, words[0])
        assert command is not None, f"{page} names `roundtable {words[0]}`"
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.commands[words[1]]
        known = {name for parameter in command.params for name in parameter.opts}
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{page}: `{' '.join(words)}` has no {word}"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"
    if (ROOT / page).parent != ROOT:
        return
    rooms = "core|report|live|engine|meetings|voices|store|workshop|app|doors"
    for path in re.findall(rf"`((?:src|tests|docs|bench|{rooms})/[\w./-]+)`", text):
        assert (ROOT / path).exists() or (ROOT / "src" / "roundtable" / path).exists(), f"{page} names {path}"


def test_the_page_on_changes_lists_every_refusal_and_its_examples_can_be_read() -> None:
    text = (ROOT / "docs" / "changes.md").read_text()
    kinds = "".join(re.findall(r"^\| (`.*?) \|", text, re.M))
    assert sorted(re.findall(r"`(\w+)`", kinds)) == sorted(RefusalKind)
    example = "".join(re.findall(r"^ {4}(.*\n)", text, re.M))
    (written,) = parse_reply_file_changes(example).operations
    assert written == ReplaceFile("src/greeting.py", 'def greet(name):\n    return f"Hello {name}"\n')
    for line in ("DELETE src/old.py", "RENAME src/a.py -> src/b.py"):
        assert f"`{line}`" in text
        assert parse_reply_file_changes(line).operations


def test_the_library_example_in_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (script,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    (tmp_path / "table.toml").write_text(script)
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "ROUNDTABLE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert process.stdout == "reached Spaces counted 3 of 3\n"


def test_the_sample_output_in_the_readme_is_what_the_program_prints(tmp_path: Path) -> None:
    (sample,) = re.findall(r"^    (Decision reached: .*?)\n\n", (ROOT / "README.md").read_text(), re.M | re.S)
    lines = [line.removeprefix("    ").partition("…")[0].rstrip() for line in sample.splitlines()]

    def of(blind: str, then: str, error: str = "") -> dict[str, object]:
        block: dict[str, object] = {"stand": then, "position": "", "error": error, "evidence": [], "confidence": 8}
        turns = [{"round": "*blind", "text": blind_answer(blind)}, {"round": "*reconsider", "text": json.dumps(block)}]
        return {"turns": turns}

    cli = Cli(tmp_path)
    seats = cli.script(claude=of("REST", "A"), gpt=of("GraphQL", "B"), local=of("GraphQL", "A", "It lacks caches."))
    printed = cli.run("discuss", "Which?", "--option", "REST", "--option", "GraphQL", *seats).stdout.splitlines()
    places = [next(at for at, name in enumerate(printed) if name.startswith(line)) for line in filter(None, lines)]
    assert places == sorted(places)


def test_every_make_target_named_in_a_page_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"(?:^ {4}|`)make ([a-z-]+)", (ROOT / page).read_text(), re.M):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page} names make {target}"


def test_the_exit_codes_in_the_readme_are_those_of_the_command_line() -> None:
    from roundtable.core.faults import RecordError, SessionHeld, UsageError
    from roundtable.core.values import Decision
    from roundtable.doors.cli.output import (
        EXIT_DEGRADED,
        EXIT_INTERRUPTED,
        EXIT_NO_DECISION,
        EXIT_NO_QUORUM,
        EXIT_OK,
        decision_exit_code,
    )

    text = (ROOT / "README.md").read_text().replace("\n", " ")
    codes = re.search(r"Exit codes: (.*?)\.", text)
    assert codes is not None
    numbers = [int(number) for number in re.findall(r"\b(\d+)\b", codes[1])]
    meeting, usage, ours = SessionHeld.exit_code, UsageError.exit_code, RecordError.exit_code
    assert numbers == [EXIT_OK, ours, usage, EXIT_NO_DECISION, EXIT_DEGRADED, meeting, EXIT_NO_QUORUM, EXIT_INTERRUPTED]
    assert decision_exit_code(Decision(Outcome.TIE, ())) == EXIT_NO_DECISION
