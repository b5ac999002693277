"""`roundtable project` and the report: what a meeting in stages made, at the real command line."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.text.quotation import quote_markdown
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat, hold_meeting
from tests.repository import git, sandbox
from tests.stories.test_sdlc_files import ACCOUNTS, MERGED_ACCOUNTS
from tests.stories.test_sdlc_results import AGREED, IDEA, STAGES, seats
from tests.stories.test_sdlc_stages import stage_settings


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Somebody for whom three stages were held, after which nothing was written."""
    asyncio.run(sandbox())
    cli = Cli(tmp_path_factory.mktemp("person"))
    settings = stage_settings(*STAGES)
    agenda = Agenda(IDEA, meeting="sdlc", settings=dict(settings), answers={"stages": "continue"}, seed=7)
    hold_meeting(cli, agenda, **{name: {"turns": turns} for name, turns in seats().items()})
    return cli


def test_every_version_of_every_file_is_listed_with_who_contributed_what(cli: Cli) -> None:
    output = cli.run("project", "last").stdout.splitlines()
    assert output[0] == "version\tfile\tchange\tcontributions"
    assert "development/gpt\taccounts.py\tnew\tgpt" in output
    assert "development\taccounts.py\tnew\tclaude, login from gpt, rollback from gemini" in output
    assert cli.run("project", "--list").stdout.splitlines() == output
    text = json.loads(cli.run("project", "--json").stdout)["versions"]
    development = next(line for line in text if line["name"] == "development")
    assert development["decision"] == "D2"
    assert development["files"][0]["took"] == [
        {"symbol": "login", "seat": "gpt"},
        {"symbol": "rollback", "seat": "gemini"},
    ]


def test_any_version_of_a_file_can_be_printed(cli: Cli) -> None:
    assert cli.run("project", "--file", "accounts.py").stdout == MERGED_ACCOUNTS
    output = ("--file", "accounts.py", "--stage", "development/gemini")
    assert cli.run("project", *output).stdout == ACCOUNTS["gemini"]
    nowhere = cli.run("project", "--file", "account.py", code=2)
    assert "See accounts.py." in nowhere.stderr
    never = cli.run("project", "--file", "accounts.py", "--stage", "devops", code=2)
    assert "There is no version devops." in never.stderr


@pytest.mark.feature("S0.53")
def test_the_project_is_exported_as_a_folder_or_a_zip_and_overwrites_nothing(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "accounts"
    assert cli.run("project", "last", "--to", f"../{cli.work.name}/../{folder.name}-2").stdout == (
        f"{cli.work.parent}/{folder.name}-2\n"
    )
    assert cli.run("project", "last", "--to", str(folder)).stdout == f"{folder}\n"
    assert (folder / "accounts.py").read_text() == MERGED_ACCOUNTS
    (folder / "accounts.py").write_text("mine")
    refused = cli.run("project", "last", "--to", str(folder), code=2)
    assert "exists already and is not overwritten." in refused.stderr
    assert (folder / "accounts.py").read_text() == "mine"
    cli.run("project", "last", "--to", str(tmp_path / "accounts.zip"), "--zip")
    assert cli.run("project", "last", "--to", str(tmp_path / "other"), "--zip").stdout == f"{tmp_path}/other.zip\n"
    with zipfile.ZipFile(tmp_path / "accounts.zip") as zip:
        assert zip.namelist() == ["accounts/accounts.py", "accounts/test_accounts.py"]


@pytest.mark.parametrize("place", ["/", "/etc/hosts/x", "/proc/x/y", "x" * 300, "new/..", ".zip", "...zip"])
@pytest.mark.parametrize("form", [[], ["--zip"]])
def test_an_impossible_export_path_is_refused_in_one_sentence(cli: Cli, place: str, form: list[str]) -> None:
    before = sorted(path.name for path in cli.work.iterdir())
    refused = cli.run("project", "last", "--to", place, *form, code=2).stderr
    assert re.search(r"does not contain a project name\.|could not be written: [\w ]+\.", refused)
    assert "Choose " in refused
    assert sorted(path.name for path in cli.work.iterdir()) == before


@pytest.mark.feature("S1.12")
def test_a_repository_can_be_pushed_with_the_two_commands_that_are_printed(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "my accounts"
    result = cli.run("project", "last", "--to", str(folder), "--git", "--json")
    output = json.loads(result.stdout)
    assert output["commit"] == git(folder, "rev-parse", "HEAD").strip()
    assert quote_markdown(AGREED) in (folder / "docs/decisions/D1-requirements.md").read_text()
    far = tmp_path / "far.git"
    git(tmp_path, "init", "-q", "--bare", str(far))
    text = cli.run("project", "last", "--to", str(folder), "--git").stderr
    commands = re.findall(r"^  (git .*)$", text, re.M)
    for command in commands:
        argv = [str(far) if part == "URL" else part for part in shlex.split(command)]
        subprocess.run(argv, check=True, capture_output=True, env=cli.env)
    assert len(commands) == 2
    branch = git(folder, "branch", "--show-current").strip()
    assert git(far, "rev-parse", branch).strip() == output["commit"]


def test_the_report_is_written_in_both_forms(cli: Cli, tmp_path: Path) -> None:
    cli.run("export", "last", "--format", "report-md", "-o", str(tmp_path / "r.md"))
    cli.run("export", "last", "--format", "report-html", "-o", str(tmp_path / "r.html"))
    markdown, html = (tmp_path / "r.md").read_text(), (tmp_path / "r.html").read_text()
    for text in (markdown, html):
        assert "claude, login from gpt, rollback from gemini" in text
        assert "Contributions" in text
    assert "> R1 A user can log in.\n> R2 What was done can be undone." in markdown
    assert AGREED in html


def test_a_new_project_is_exported_and_not_applied_to_the_workspace(cli: Cli) -> None:
    for address in ((), ("last",)):
        output = cli.run("apply", *address, code=2).stderr
        assert "made a new project, which is not part of this workspace." in output
        assert re.search(r"roundtable project \S+ --to FOLDER", output)


def test_apply_uses_the_newest_decision_and_not_a_new_project(tmp_path: Path) -> None:
    other = Cli(tmp_path)
    asked = Agenda("REST or GraphQL?", options=("REST", "GraphQL"))
    slug = hold_meeting(other, asked, claude=council_seat("REST", "A"), gpt=council_seat("REST", "A"))
    agenda = Agenda(
        IDEA, meeting="sdlc", settings=dict(stage_settings(*STAGES)), answers={"stages": "continue"}, seed=7
    )
    hold_meeting(other, agenda, **{name: {"turns": turns} for name, turns in seats().items()})

    async def meant() -> str:
        async with await Roundtable.open(other.work, Places(other.home, other.home)) as desk:
            return (await desk.meetings.find_session_to_apply("")).charter.slug

    assert asyncio.run(meant()) == slug


def test_impossible_requests_are_reported_in_two_sentences(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    hold_meeting(
        cli,
        Agenda("REST or GraphQL?", options=("REST", "GraphQL")),
        claude=council_seat("REST", "A"),
        gpt=council_seat("REST", "A"),
    )
    for args in ((), ("--file", "a.py"), ("--to", "x")):
        assert "This session has not written a project." in cli.run("project", *args, code=2).stderr
    assert "This session has no stages" in cli.run("export", "--format", "report-md", code=2).stderr
    assert "Use only one of these options." in cli.run("project", "--to", "x", "--file", "a.py", code=2).stderr
    assert "Add --to PATH --zip." in cli.run("project", "--zip", code=2).stderr
    assert "Add --file PATH." in cli.run("project", "--stage", "qa", code=2).stderr
    assert not (cli.work / "x").exists()
