"""Every meeting from its own command, and what each of them may be told."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from roundtable.core.decide import decrees
from roundtable.doors.cli.main import COMMANDS
from roundtable.doors.cli.options import SectionCommand
from roundtable.meetings import MEETINGS
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import HANGING_SEAT, Seat, council_seat, debater, doctor, knight, opinion, voter

ROOT = Path(__file__).parent.parent.parent


def charter(lines: list[dict[str, Any]]) -> dict[str, Any]:
    (opened,) = [line for line in lines if line["kind"] == "session.opened"]
    return opened["charter"]


def decision(lines: list[dict[str, Any]]) -> dict[str, Any]:
    (event,) = [line for line in lines if line["kind"] == "decision.made"]
    return event["decision"]


AGREE = "AGREE: a\nSimple is enough."

COMMANDS_WITH_SEATS: list[tuple[str, str, dict[str, Seat], int]] = [
    ("ask", "second-opinion", {"a": opinion("Split it", "yes"), "b": opinion("Split it", "yes")}, 0),
    ("debate", "debate", {"a": debater("Use REST", AGREE), "b": debater("Use REST", AGREE)}, 0),
    ("code-red", "code-red", {"a": doctor("stale-token"), "b": doctor("stale-token")}, 0),
    ("vote", "vote", {"a": voter("Chess", "A", "B"), "b": voter("Chess", "A", "B")}, 0),
]


@pytest.mark.parametrize(("command", "meeting", "seats", "code"), COMMANDS_WITH_SEATS)
def test_each_meeting_has_a_command_that_holds_it(
    cli: Cli, command: str, meeting: str, seats: dict[str, Seat], code: int
) -> None:
    lines = cli.json(command, "What is to be done?", *cli.script(**seats), code=code)
    assert charter(lines)["meeting"] == meeting
    assert decision(lines)["outcome"] == "reached"


@pytest.mark.feature("S3.28")
@pytest.mark.parametrize(("_", "meeting", "seats", "code"), COMMANDS_WITH_SEATS)
def test_discuss_puts_a_topic_to_any_meeting_by_name(
    cli: Cli, _: str, meeting: str, seats: dict[str, Seat], code: int
) -> None:
    lines = cli.json("discuss", "What is to be done?", "--meeting", meeting, *cli.script(**seats), code=code)
    assert (charter(lines)["meeting"], charter(lines)["question"]) == (meeting, "What is to be done?")


def test_a_preset_has_its_own_settings_and_an_unknown_name_lists_the_presets(cli: Cli) -> None:
    seats = cli.script(a=knight(9), b=knight(10))
    output = charter(cli.json("discuss", "Redis?", "--meeting", "theroundtaible", *seats, "--answer", "decide=myself"))
    assert (output["meeting"], output["settings"]["pending_blocks"]) == ("knights", "any")
    refused = cli.run("discuss", "Redis?", "--meeting", "knight", *seats, code=2).stderr
    assert "knight" in refused
    assert "knights" in refused.splitlines()[1]


@pytest.mark.feature("S2.23")
@pytest.mark.parametrize("command", ["ask", "discuss"])
def test_the_flags_of_codex_roundtable_are_understood(cli: Cli, tmp_path: Path, command: str) -> None:
    seats = cli.script(claude=opinion("Definitely split it", "yes"), opencode=opinion("Never split it", "no"))
    flags = ["--topic", "Split this repo?", "--workspace", str(cli.work), "--session", "architecture"]
    flags += ["--timeout", "60", *(["--follow-up-once"] if command == "ask" else ["--meeting", "second-opinion"])]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    workspace, cli.work = cli.work, elsewhere
    lines = cli.json(command, *flags, *seats, code=3)
    cli.work = workspace
    recorded = charter(lines)
    assert (recorded["question"], recorded["name"], recorded["limits"]["seat_timeout"]) == (
        "Split this repo?",
        "architecture",
        60,
    )
    assert recorded["workspace"] == str(workspace)
    assert recorded["settings"] == {"follow_up": command == "ask"}
    rounds = [line["round"] for line in lines if line["kind"] == "round.opened"]
    assert any("follow-up" in name for name in rounds) == (command == "ask")


def test_a_question_given_twice_or_not_at_all_is_rejected(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    assert (
        "Use either the argument or --topic."
        in cli.run("discuss", "REST?", "--topic", "GraphQL?", *seats, code=2).stderr
    )
    for command, called in (("ask", "question"), ("build", "task"), ("sdlc", "idea")):
        refused = cli.run(command, "", *seats, code=2).stderr
        assert (
            refused
            == f"Error: The argument {called.upper()} is missing.\nWrite the {called} in quotes after the command.\n"
        )
        assert f"roundtable {command} [OPTIONS] [{called.upper()}]" in cli.run(command, "--help").stdout


@pytest.mark.parametrize("command", ["ask", "debate", "code-red", "vote", "summon", "review", "build", "sdlc"])
def test_every_meeting_obeys_the_given_limits(cli: Cli, command: str) -> None:
    limits = ["--timeout", "40", "--deadline", "50", "--budget-usd", "3", "--budget-tokens", "90000"]
    seats = cli.script(a={"turns": []}, b={"turns": []}, c={"turns": []})
    (cli.work / "change.diff").write_text("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    about = ["--patch", "change.diff"] if command in ("summon", "review") else ["A shop"]
    lines = cli.json(
        command, *about, *limits, "--quorum", "3", "--sequential", *seats, code=3 if command == "sdlc" else 6
    )
    told = charter(lines)["limits"]
    assert (told["seat_timeout"], told["round_deadline"], told["quorum"]["seats"]) == (40, 50, 3)
    assert (told["budget_usd"], told["budget_tokens"], told["sequential"]) == (3, 90000, True)


def test_a_vote_without_its_quorum_is_no_decision(cli: Cli) -> None:
    seats = cli.script(a=voter("Chess", "A", "B"), b=voter("Chess", "A", "B"), c={"turns": []})
    assert decision(cli.json("vote", "What next?", *seats, "--quorum", "3", code=6))["outcome"] == "insufficient"
    assert decision(cli.json("vote", "What next?", *seats, "--quorum", "2"))["outcome"] == "reached"


@pytest.mark.feature("S2.25")
def test_a_timeout_is_for_each_participant_and_the_others_still_count(cli: Cli) -> None:
    seats = cli.script(a=opinion("Split it", "yes"), b=opinion("Split it", "yes"), c=HANGING_SEAT)
    lines = cli.json("ask", "Split it?", "--timeout", "0.5", *seats)
    (missed,) = [line for line in lines if line["kind"] == "seat.missed"]
    assert (missed["seat"], missed["fault"]["kind"]) == ("c", "timeout")
    assert "with --timeout or limits.seat_timeout" in missed["fault"]["help"]
    assert decision(lines)["counted"] == ["a", "b"]


def test_seats_see_the_given_lines_of_a_file_and_the_given_folder(cli: Cli) -> None:
    (cli.work / "api.md").write_text("".join(f"line {number}\n" for number in range(1, 61)))
    (cli.work / "docs").mkdir()
    (cli.work / "docs" / "rest.md").write_text("REST is simple.\n")
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    lines = cli.json("discuss", "REST?", "-f", "api.md:10-50", "--context", "docs", *seats)
    names = [item["name"] for item in charter(lines)["context"]]
    assert "api.md:10-50" in names
    assert any("rest.md" in name for name in names)


def test_a_fresh_meeting_ignores_earlier_decisions(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    cli.run("discuss", "REST or GraphQL for the public API?", *seats)
    again = charter(cli.json("discuss", "REST or GraphQL for the public API?", *seats))
    fresh = charter(cli.json("discuss", "REST or GraphQL for the public API?", *seats, "--fresh"))
    assert again.get("recalled")
    assert not fresh.get("recalled")


# --- help ----------------------------------------------------------------------------------------


def every_command() -> list[tuple[str, click.Command]]:
    commands: list[tuple[str, click.Command]] = []
    for section in COMMANDS.values():
        for name, (module, attribute, _) in section.items():
            command: click.Command = getattr(import_module(f"roundtable.doors.cli.{module}"), attribute)
            inside = command.commands.items() if isinstance(command, click.Group) else ()
            commands += [(name, command), *((f"{name} {subcommand}", inner) for subcommand, inner in inside)]
    return commands


def test_help_fits_a_terminal_of_80_columns() -> None:
    for name, command in every_command():
        help_text = command.get_help(click.Context(command, info_name=f"roundtable {name}", terminal_width=80))
        assert [line for line in help_text.splitlines() if len(line) > 80] == [], name


def test_every_commands_help_has_an_example_of_itself() -> None:
    for name, command in every_command():
        assert "Example" in (command.help or ""), name
        assert f"roundtable {name.split()[0]}" in (command.help or ""), name


def test_help_lists_meeting_options_before_limits_and_gates() -> None:
    for name, command in every_command():
        if isinstance(command, SectionCommand) and any(param.name == "files" for param in command.params):
            help_text = command.get_help(click.Context(command))
            assert help_text.index("The meeting:") < help_text.index("Limits:") < help_text.index("Gates:"), name


def test_every_command_has_few_options_of_its_own() -> None:
    for name, command in every_command():
        options = [param.name for param in command.params if isinstance(param, click.Option)]
        own_options = [option for option in options if option not in (*EVERY_MEETING, EVERYWHERE)]
        assert len(own_options) <= (10 if name == "sdlc" else 8), name  # eight of which are about the stages alone


EVERYWHERE = "workspace"
"""What `roundtable --help` lists for every command."""

EVERY_MEETING = (
    *("topic", "files", "folders", "seats", "name", "fresh", "quote", "headless", "answers", "as_json", "plain"),
    *("strict", "seat_timeout", "round_deadline", "budget_usd", "budget_tokens", "quorum", "sequential"),
)


def test_help_lists_every_option_and_every_gate_of_a_command() -> None:
    meeting = {"ask": "second-opinion"} | {name: name for name in MEETINGS}
    for name, command in every_command():
        text = " ".join(command.get_help(click.Context(command, info_name=name)).split())
        options = [param for param in command.params if isinstance(param, click.Option) and param.name != EVERYWHERE]
        assert [option.name for option in options if option.opts[0] not in text] == [], name
        if name in meeting and any(param.name == "answers" for param in command.params):
            gates = (*MEETINGS[meeting[name]].gates, decrees.DECREE_GATE)
            answerable = f"Answer a gate in advance; the gates are: {', '.join(gates)}."
            assert answerable.replace(" ", "") in text.replace(" ", ""), name


# --- exit codes ----------------------------------------------------------------------------------


def test_the_page_of_exit_codes_lists_each_code_once() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    codes = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")][1:]
    assert codes == ["0", "1", "2", "3", "4", "5", "6", "130"]


FAILS: Seat = {"turns": [{"fault": "refused"}]}


@pytest.mark.parametrize(
    ("seats", "args", "code"),
    [
        ({"a": knight(9), "b": knight(10)}, ["--answer", "decide=myself"], 0),
        ({"a": knight(2), "b": knight(1)}, [], 0),
        ({"a": knight(9), "b": knight(10)}, ["--timeout", "soon"], 2),
        ({"a": knight(9), "b": knight(4)}, ["--rounds", "1"], 3),
        ({"a": knight(9), "b": HANGING_SEAT}, ["--timeout", "0.5", "--quorum", "2"], 6),
        ({"a": FAILS, "b": FAILS}, [], 6),
    ],
)
def test_the_exit_code_says_how_a_meeting_ended(cli: Cli, seats: dict[str, Seat], args: list[str], code: int) -> None:
    cli.run("discuss", "Redis?", "--meeting", "knights", *cli.script(**seats), *args, code=code)


def test_a_degraded_decision_changes_the_exit_code_only_with_strict(cli: Cli) -> None:
    seats = cli.script(a=opinion("Split it", "yes"), b=opinion("Split it", "yes"), c=HANGING_SEAT)
    cli.run("ask", "Split it?", *seats, "--timeout", "0.5")
    cli.run("ask", "Split it?", *seats, "--timeout", "0.5", "--strict", code=4)


def test_an_internal_error_has_its_own_exit_code(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "roundtable.db").write_bytes(b"this is no database" * 100)
    assert "not a database" in cli.run("list", code=1).stderr


@pytest.mark.feature("S2.46")
def test_all_data_of_a_person_lives_in_one_folder_that_can_be_moved(cli: Cli, tmp_path: Path) -> None:
    cli.run("discuss", "REST?", *cli.script(a=council_seat("REST"), b=council_seat("REST")))
    assert (cli.home / "roundtable.db").exists()
    cli.env |= {"ROUNDTABLE_HOME": "", "HOME": str(tmp_path / "me"), "XDG_DATA_HOME": str(tmp_path / "me" / "data")}
    assert '"sessions": []' in cli.run("list", "--json").stdout
    assert (tmp_path / "me" / "data" / "roundtable" / "roundtable.db").exists()
