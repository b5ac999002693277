"""`export`, `sync`, `show --run-id` and `branch` at the real command line: what is written where, and what is not."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda
from tests.doors.command_line import PATIENCE, Cli
from tests.doors.scripted_seats import blind_answer, council_seat, hold_meeting

QUESTION = "REST or GraphQL?"


def agreed(cli: Cli, name: str = "") -> str:
    """Hold a council that agrees; its slug is returned."""
    agenda = Agenda(QUESTION, options=("REST", "GraphQL"), name=name)
    return hold_meeting(cli, agenda, claude=council_seat("REST", "A"), gpt=council_seat("REST", "A"))


def cli_list(cli: Cli) -> list[dict[str, Any]]:
    return json.loads(cli.run("list", "--json").stdout)["sessions"]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def appeared(folder: Path, pattern: str) -> Path:
    """The file of that name, once it is there."""
    give_up = time.monotonic() + PATIENCE
    while not (files := list(folder.glob(pattern))):
        assert time.monotonic() < give_up, pattern
        time.sleep(0.01)
    return files[0]


# --- export ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "suffix", "begins"),
    [("markdown", "md", "# REST"), ("html", "html", "<!doctype"), ("json", "json", "{"), ("jsonl", "jsonl", '{"v":3')],
)
def test_a_session_is_exported_to_a_file_named_after_it(cli: Cli, form: str, suffix: str, begins: str) -> None:
    slug = agreed(cli)
    result = cli.run("export", "last", "--format", form)
    assert result.stdout == f"{slug}.{suffix}\n"
    output = (cli.work / f"{slug}.{suffix}").read_text()
    assert output.startswith(begins)
    assert output == cli.run("show", "last", "--format", form).stdout, "one renderer under both"


def test_html_contains_the_agreement_map_and_the_recount_and_no_script(cli: Cli) -> None:
    agreed(cli)
    cli.run("export", "--format", "html", "-o", "out/page.html")
    html = (cli.work / "out" / "page.html").read_text()
    for part in ("<svg", "Which seats agree", "(decided)", "Recount", "majority of last positions"):
        assert part in html
    assert "<script" not in html


def test_existing_files_are_overwritten_only_with_force(cli: Cli) -> None:
    agreed(cli)
    (cli.work / "mine.md").write_text("mine")
    refused = cli.run("export", "-o", "mine.md", code=2)
    assert "mine.md already exists." in refused.stderr
    assert "--force" in refused.stderr
    assert (cli.work / "mine.md").read_text() == "mine"
    cli.run("export", "-o", "mine.md", "--force")
    assert (cli.work / "mine.md").read_text().startswith("# REST")


def test_an_unwritable_export_path_is_reported_in_one_sentence(cli: Cli) -> None:
    agreed(cli)
    (cli.work / "file").write_text("")
    refused = cli.run("export", "-o", "file/x.md", code=2)
    assert "cannot be written" in refused.stderr


def test_an_export_does_not_follow_a_link_of_the_workspace(cli: Cli, tmp_path: Path) -> None:
    agreed(cli)
    (tmp_path / "outside").mkdir()
    (cli.work / "docs").mkdir()
    (cli.work / "docs" / "debate").symlink_to(tmp_path / "outside")
    assert "cannot be written" in cli.run("export", "--layout", "debate", "-o", "docs", "--force", code=2).stderr
    assert files(tmp_path / "outside") == []


def test_an_export_does_not_overwrite_special_files(cli: Cli) -> None:
    agreed(cli)
    os.mkfifo(cli.work / "pipe")
    assert "pipe is not a regular file." in cli.run("export", "-o", "pipe", "--force", code=2).stderr
    assert (cli.work / "pipe").is_fifo()
    assert "roundtable show" in cli.run("export", "-o", "-", code=2).stderr
    assert not (cli.work / "-").exists()


@pytest.mark.feature("S1.45")
def test_the_debate_layout_has_a_file_per_seat_and_round_and_the_vote_count(cli: Cli) -> None:
    def part(idea: str, *ranking: str) -> dict[str, Any]:
        ballot = f"```json\n{json.dumps({'ranked_choices': ranking})}\n```"
        turns = {"*-pitch": blind_answer(idea, f"{idea}, because."), "*-discuss": "Well argued.", "*-ballot": ballot}
        return {"turns": [{"round": round, "text": text} for round, text in turns.items()]}

    table = cli.script(claude=part("A garden app", "A", "B"), gpt=part("A chess app", "A", "B"))
    cli.run("vote", "What to build?", *table, "--headless", "--plain")
    cli.run("export", "--layout", "debate", "-o", "docs")
    assert files(cli.work / "docs") == [
        "debate/vote-1-pitch/agent-claude.md",
        "debate/vote-1-pitch/agent-gpt.md",
        "debate/vote-2-discuss/agent-claude.md",
        "debate/vote-2-discuss/agent-gpt.md",
        "debate/vote-results.md",
    ]
    pitch = (cli.work / "docs/debate/vote-1-pitch/agent-claude.md").read_text()
    assert "> A garden app, because." in pitch
    assert "Winner: A" in (cli.work / "docs/debate/vote-results.md").read_text()


def test_every_seat_gets_its_own_file_whatever_its_name(cli: Cli) -> None:
    names = ["円" * 80, "円" * 80 + "一", "a-b", "A-B"]
    cli.run("discuss", QUESTION, *cli.script(**{name: council_seat("REST") for name in names}), "--headless", "--plain")
    cli.run("export", "--layout", "debate", "-o", "docs")
    blind = cli.work / "docs/debate/council-1-blind"
    assert sorted(path.read_text().partition(" in ")[0] for path in blind.iterdir()) == sorted(
        f"# {name}" for name in names
    )


@pytest.mark.feature("S2.47", "S2.48", "S2.49", "S2.6")
def test_the_runs_layout_groups_the_runs_of_a_session_name_under_one_key(cli: Cli) -> None:
    agreed(cli, "architecture")
    agreed(cli, "architecture")
    newest, older = cli_list(cli)
    assert json.loads(cli.run("status", "architecture", "--json").stdout)["id"] == newest["id"]
    cli.run("export", "architecture", "--layout", "runs", "-o", "state")
    cli.run("export", older["id"], "--layout", "runs", "-o", "same")
    state = cli.work / "state"
    assert [(cli.work / "same" / path).read_text() for path in files(state)] == [
        (state / path).read_text() for path in files(state)
    ], "whichever of them is asked for"
    (session,) = state.glob("sessions/architecture-*/session.json")
    data = json.loads(session.read_text())
    assert len(data["runs"]) == 2
    assert data["runs"] == sorted(data["runs"])
    assert data["created_at"] < data["updated_at"]
    for run in data["runs"]:
        folder = state / "runs" / data["session_key"]
        assert json.loads((folder / f"{run}.json").read_text())["run_id"] == run
        assert (folder / f"{run}.md").is_file()
        assert (state / "logs/runs" / data["session_key"] / f"{run}.jsonl").is_file()
    assert (state / "logs/sessions" / f"{data['session_key']}.jsonl").is_file()
    assert not list(state.glob("sessions/*/session.lock"))


# --- show --run-id --------------------------------------------------------------------------------


@pytest.mark.feature("S2.28", "S2.31")
def test_a_run_is_shown_by_its_id_as_json_and_as_markdown(cli: Cli) -> None:
    agreed(cli)
    run = json.loads(cli.run("status", "last", "--json").stdout)["run_id"]
    data = json.loads(cli.run("show", "--run-id", run, "--format", "json").stdout)
    assert (data["version"], data["run_id"], data["topic"]) == ("2.1", run, QUESTION)
    assert f"- Run: {run}" in cli.run("show", "--run-id", run, "--format", "markdown").stdout
    assert "cannot be shown as html" in cli.run("show", "--run-id", run, "--format", "html", code=2).stderr


@pytest.mark.feature("S2.45")
@pytest.mark.parametrize("run", ["run-20260328T120000000000Z", "yesterday"])
def test_a_missing_run_is_reported_with_what_to_check(cli: Cli, run: str) -> None:
    refused = cli.run("show", "--run-id", run, code=2)
    assert f"Run artifact not found: {run}." in refused.stderr
    assert "--run-id" in refused.stderr.splitlines()[-1]


# --- sync -----------------------------------------------------------------------------------------


@pytest.mark.feature("S3.6", "S3.15")
def test_sync_creates_the_folder_only_after_a_yes(cli: Cli) -> None:
    slug = agreed(cli)
    assert not (cli.work / ".roundtable").exists()
    assert "sync --yes" in cli.run("sync", code=2).stderr
    assert not (cli.work / ".roundtable").exists()
    assert cli.run("sync", "--yes").stdout == ".roundtable/ is up to date: 6 files written.\n"
    assert f"sessions/{slug}/decisions.md" in files(cli.work / ".roundtable")
    assert cli.run("sync").stdout == ".roundtable/ is up to date: 0 files written.\n"


def test_sync_asks_at_a_terminal(cli: Cli) -> None:
    agreed(cli)
    with cli.terminal("sync") as terminal:
        terminal.expect("Create ")
        terminal.type("n\r")
        terminal.end(3)
    assert not (cli.work / ".roundtable").exists()


def test_an_unwritable_folder_is_reported_in_one_sentence(cli: Cli) -> None:
    (cli.work / ".roundtable").mkdir()
    (cli.work / ".roundtable" / "sessions").write_text("")
    table = cli.script(claude=council_seat("REST", "A"), gpt=council_seat("REST", "A"))
    options = ("--option", "REST", "--option", "GraphQL", "--headless", "--plain")
    result = cli.run("discuss", QUESTION, *options, *table)
    assert "topic.md cannot be written (and 3 more)" in result.stderr
    assert "roundtable sync" in result.stderr
    refused = cli.run("sync", code=2).stderr
    assert "topic.md cannot be written (and 3 more)" in refused
    assert "All other files are up to date: 0 files written." in refused
    assert result.stderr.count("\n") == 1


def test_a_killed_process_leaves_complete_files_that_sync_updates(cli: Cli) -> None:
    (cli.work / ".roundtable").mkdir()
    hangs: dict[str, Any] = {
        "turns": [{"round": "*1-blind", "text": blind_answer("REST")}, {"round": "*3-reconsider", "hang": True}]
    }
    table = cli.script(claude=council_seat("GraphQL", "B"), gpt=hangs)
    options = ("--option", "REST", "--option", "GraphQL", "--headless", "--json")
    with cli.started("discuss", QUESTION, *options, *table) as running:
        running.until("move.made", round="council/3-reconsider", seat="claude")
        place = appeared(cli.work / ".roundtable", "sessions/*/status.json").parent  # the last of them, every time
        running.signal(signal.SIGKILL)
    for name in ("topic.md", "discussion.md", "decisions.md"):
        assert (place / name).read_text().endswith("\n"), "old or new, never half"
    cli.run("sync")
    status = json.loads((place / "status.json").read_text())
    assert (status["phase"], status["round"], status["current_seat"]) == ("open", "council/3-reconsider", "gpt")
    assert cli.run("sync").stdout == ".roundtable/ is up to date: 0 files written.\n"


def test_a_link_instead_of_the_folder_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (cli.work / ".roundtable").symlink_to(tmp_path / "elsewhere")
    assert "is a symbolic link" in cli.run("sync", "--yes", code=2).stderr


# --- branch ---------------------------------------------------------------------------------------


def test_a_branch_starts_before_a_round_and_runs_independently(cli: Cli) -> None:
    table = cli.script(claude=council_seat("REST", "A"), gpt=council_seat("GraphQL", "B"))
    options = ("--option", "REST", "--option", "GraphQL", "--headless", "--plain")
    cli.run("discuss", QUESTION, *options, *table, code=3)
    parent = cli_list(cli)[0]
    cli.script(claude=council_seat("REST", "A"), gpt=council_seat("GraphQL", "A"))
    output = cli.run("branch", parent["slug"], "--at", "3").stdout
    child = output.split()[2].rstrip(";")
    assert not json.loads(cli.run("status", child, "--json").stdout)["run_id"], "it was never run"
    assert f"roundtable resume {child}" in output
    cli.run("resume", child, "--plain", code=3)
    old, new = (json.loads(cli.run("show", session, "--format", "json").stdout) for session in (parent["id"], child))
    assert new["parent"] == old["id"]
    assert [round["name"] for round in new["rounds"]][:2] == ["council/1-blind", "council/3-reconsider"]
    assert new["rounds"][0] == old["rounds"][0], "what was said before the fork is shared"
    assert [stand_of(cli, session, "gpt") for session in (old["id"], child)] == ["B", "A"]


def stand_of(cli: Cli, session: str, seat: str) -> str:
    """What a seat stood for in the first reading."""
    lines = map(json.loads, cli.run("show", session, "--format", "jsonl", "--round", "3").stdout.splitlines())
    return next(line["verdict"]["target"] for line in lines if line["kind"] == "move.made" and line["seat"] == seat)


def test_a_branch_at_an_unknown_round_lists_the_known_rounds(cli: Cli) -> None:
    agreed(cli)
    refused = cli.run("branch", "last", "--at", "7", code=2)
    assert "council/1-blind" in refused.stderr
