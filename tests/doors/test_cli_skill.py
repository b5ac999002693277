"""`roundtable skill`: the text that teaches coding agents when to call the table, and where it is put."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from roundtable.app.desk import Setup
from tests.doors.command_line import Cli

NO_AGENTS = "/nowhere"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A person with a home, and no agent on the path."""
    cli = Cli(tmp_path)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        cli.env.pop(name, None)
    cli.env |= {"HOME": str(tmp_path / "person"), "PATH": NO_AGENTS}
    return cli


def person(cli: Cli) -> Path:
    return Path(cli.env["HOME"])


def found_here(cli: Cli, *agents: str) -> None:
    """Have programs of these names."""
    programs = cli.work.parent / "bin"
    programs.mkdir()
    for name in agents:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    cli.env["PATH"] = str(programs)


# --- which phrases -------------------------------------------------------------------------------


@pytest.mark.feature("S2.17")
@pytest.mark.parametrize("phrase", ["roundtable this plan", "Please round-table this plan.", "roundtable 一下这个方案"])
def test_roundtable_this_plan_goes_to_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "table"


@pytest.mark.feature("S2.18")
@pytest.mark.parametrize(
    "phrase",
    [
        "let cc and opencode both look",
        "What do Claude and Gemini think of this?",
        "让 cc 和 opencode 都看一下",
        "让cc和opencode都看一下",
    ],
)
def test_two_models_named_together_go_to_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "table"


@pytest.mark.feature("S2.19")
@pytest.mark.parametrize(
    "phrase", ["do a multi-party review", "a multi-model review of this, please", "做一个多方 review"]
)
def test_a_multi_party_review_goes_to_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "table"


@pytest.mark.feature("S2.20")
@pytest.mark.parametrize("phrase", ["round-table meeting on this design", "圆桌会议讨论这个设计"])
def test_a_round_table_meeting_goes_to_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "table"


@pytest.mark.feature("S2.22")
@pytest.mark.parametrize(
    "phrase",
    [
        "if they disagree ask one more round",
        "Review this rollout plan and follow up once if they disagree.",
        "如果有分歧再追问一轮",
        "圆桌讨论一下,有分歧再追问一轮",
    ],
)
def test_one_more_round_if_they_disagree_goes_to_the_table_with_a_follow_up(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "table+follow_up"


@pytest.mark.feature("S2.21")
@pytest.mark.parametrize(
    "phrase",
    [
        "ask cc",
        "let oc look",
        "what does Claude think",
        "give cc a review",
        "show opencode",
        "问问 cc",
        "让 oc 看一下",
        "Claude 怎么看",
        "给 cc review 一下",
        "给 opencode 看看",
        "ask claude and cc",
        "What does Claude think of the round-table meeting on this design?",
        "ask cc, and if they disagree ask one more round",
    ],
)
def test_one_model_named_alone_never_goes_to_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "single"


@pytest.mark.parametrize(
    "phrase", ["make the round table component blue", "cc bob on this mail", "if they differ, fix them", "let me look"]
)
def test_similar_words_do_not_call_the_table(phrase: str) -> None:
    assert Setup.route_phrase(phrase) == "none"


@pytest.mark.feature("S2.17", "S2.18", "S2.19", "S2.20", "S2.21", "S2.22")
def test_the_skill_names_every_phrase_in_both_languages(cli: Cli) -> None:
    text = cli.run("skill", "show").stdout
    front, _, body = text.removeprefix("---\n").partition("\n---\n")
    name, description = front.split("description: >-")
    assert name == "name: roundtable\n"
    assert len(" ".join(description.split())) <= 1024, "more is cut by the agents that read it"
    tables = [
        line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("| ") and "say" not in line
    ]
    assert len(tables) == 10
    for english, chinese, _ in tables:
        assert Setup.route_phrase(english) == Setup.route_phrase(chinese) != "none"
        assert english in " ".join(description.split())
        assert chinese in description


def test_the_command_says_what_a_phrase_calls(cli: Cli) -> None:
    for phrase, route, words in (
        ("如果有分歧再追问一轮", "table+follow_up", "This phrase starts a meeting, with one more round"),
        ("ask cc", "single", "This phrase asks one model, so no meeting starts."),
        ("good morning", "none", "This phrase does not start a meeting."),
    ):
        result = cli.run("skill", "show", "--phrase", phrase)
        assert result.stdout == f"{route}\n"
        assert result.stderr.startswith(words)


# --- where it is put -----------------------------------------------------------------------------


@pytest.mark.feature("S2.15", "S2.16")
def test_the_skill_is_installed_for_codex_with_a_note_to_restart(cli: Cli) -> None:
    result = cli.run("skill", "install", "--agent", "codex")
    path = person(cli) / ".codex" / "skills" / "roundtable" / "SKILL.md"
    assert path.read_text() == cli.run("skill", "show").stdout
    assert str(path) in result.stdout
    assert "Restart your agents" in result.stderr


def test_every_agent_found_gets_the_skill(cli: Cli) -> None:
    found_here(cli, "claude", "opencode", "vim")
    cli.run("skill", "install")
    installed = {path.relative_to(person(cli)).as_posix() for path in person(cli).rglob("SKILL.md")}
    assert installed == {".claude/skills/roundtable/SKILL.md", ".config/opencode/skills/roundtable/SKILL.md"}
    cli.run("skill", "remove")
    assert not list(person(cli).rglob("roundtable"))


def test_an_agents_own_variable_moves_the_skill(cli: Cli, tmp_path: Path) -> None:
    cli.env |= {"CODEX_HOME": str(tmp_path / "elsewhere"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    cli.run("skill", "install", "--agent", "codex", "--agent", "opencode")
    assert (tmp_path / "elsewhere/skills/roundtable/SKILL.md").exists()
    assert (tmp_path / "config/opencode/skills/roundtable/SKILL.md").exists()


@pytest.mark.parametrize(
    ("agent", "folder"), [("claude", ".claude"), ("codex", ".codex"), ("gemini", ".gemini"), ("opencode", ".opencode")]
)
def test_the_skill_can_be_installed_in_a_project(cli: Cli, agent: str, folder: str) -> None:
    (cli.work / "deep").mkdir()
    cli.run("-C", "deep", "skill", "install", "--project", "--agent", agent)
    assert (cli.work / folder / "skills/roundtable/SKILL.md").exists()
    assert not person(cli).exists()


def test_foreign_or_edited_skill_files_are_not_changed(cli: Cli) -> None:
    path = person(cli) / ".claude/skills/roundtable/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    output = ("--agent", "claude")
    assert "was not written by Roundtable" in cli.run("skill", "install", *output, code=2).stderr
    assert "was not written by Roundtable" in cli.run("skill", "remove", *output, code=2).stderr
    assert path.read_text() == "mine"
    cli.run("skill", "install", *output, "--force")
    cli.run("skill", "install", *output)
    edited = path.read_text().replace("In doubt", "Never in doubt")
    path.write_text(edited)
    assert "was not written by Roundtable" in cli.run("skill", "install", *output, code=2).stderr
    assert path.read_text() == edited
    cli.run("skill", "remove", *output, "--force")
    assert "has no Roundtable skill" in cli.run("skill", "remove", *output).stderr


def test_a_foreign_file_of_one_agent_does_not_stop_the_others(cli: Cli) -> None:
    found_here(cli, "claude", "codex", "gemini")
    claude_skill = person(cli) / ".claude/skills/roundtable/SKILL.md"
    claude_skill.parent.mkdir(parents=True)
    claude_skill.write_text("mine")
    (person(cli) / ".gemini/skills/roundtable/SKILL.md").mkdir(parents=True)
    result = cli.run("skill", "install", code=2)
    assert "codex: " in result.stdout
    assert f"{claude_skill} was not written" in result.stderr
    assert "SKILL.md is a folder" in result.stderr
    result = cli.run("skill", "remove", code=2)
    assert "codex: " in result.stdout
    assert claude_skill.read_text() == "mine"


def test_a_folder_with_the_name_of_the_skill_is_not_changed(cli: Cli) -> None:
    path = person(cli) / ".claude/skills/roundtable/SKILL.md"
    path.mkdir(parents=True)
    for act in ("install", "remove"):
        assert "is a folder" in cli.run("skill", act, "--agent", "claude", "--force", code=2).stderr
        assert list(path.parent.iterdir()) == [path]


def test_a_dangling_link_is_not_replaced(cli: Cli) -> None:
    path = person(cli) / ".claude/skills/roundtable/SKILL.md"
    path.parent.mkdir(parents=True)
    path.symlink_to(person(cli) / "later.md")
    assert "was not written by Roundtable" in cli.run("skill", "install", "--agent", "claude", code=2).stderr
    assert "was not written by Roundtable" in cli.run("skill", "remove", "--agent", "claude", code=2).stderr
    assert path.is_symlink()


def test_the_skill_is_not_installed_through_a_link_out_of_the_project(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (cli.work / ".claude").symlink_to(outside)
    output = ("skill", "install", "--project", "--agent", "claude", "--force")
    assert "is outside the project" in cli.run(*output, code=2).stderr
    (cli.work / ".codex/skills").mkdir(parents=True)
    (cli.work / ".codex/skills/roundtable").symlink_to(outside)
    assert "is a symbolic link." in cli.run(*output[:-2], "codex", code=2).stderr
    assert not list(outside.iterdir())


def test_an_unknown_or_missing_agent_is_reported(cli: Cli) -> None:
    assert (
        "Roundtable cannot write skills for the agent vim."
        in cli.run("skill", "install", "--agent", "vim", code=2).stderr
    )
    assert "claude, codex, gemini, opencode" in cli.run("skill", "install", code=2).stderr


def test_the_skill_of_another_version_is_replaced(cli: Cli) -> None:
    install = ("skill", "install", "--agent", "claude")
    cli.run(*install)
    path = person(cli) / ".claude/skills/roundtable/SKILL.md"
    now, older = path.read_text(), "An older text.\n"
    mark = re.sub(r"sha256:\w+", f"sha256:{sha256(older.encode()).hexdigest()[:16]}", now.splitlines()[-1])
    path.write_text(f"{older}{mark}\n")
    cli.run(*install)
    assert path.read_text() == now
