"""Money at the command line: the quote before, the line at the start, the bill afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import HANGING_SEAT, council_seat

NOBODY = "http://127.0.0.1:9"
PAID = ["--seat", "claude=paid:claude-haiku-4-5"]
DIM = ["--seat", "gpt=dim:alpha"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A person with two endpoints that nobody answers at: one with a price list, one without."""
    cli = Cli(tmp_path)
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(
        f'limits.retries = 0\n[endpoints.paid]\nbase_url = "{NOBODY}"\nprices = "anthropic"\n'
        f'[endpoints.dim]\nbase_url = "{NOBODY}"\n'
    )
    return cli


def using(**usage: float) -> dict[str, Any]:
    """A seat whose every call uses this."""
    return {**council_seat("Use REST"), "defaults": {"usage": {"input_tokens": 1000, "output_tokens": 50, **usage}}}


def test_the_costs_of_a_session_are_shown_by_seat_and_round(cli: Cli) -> None:
    seats = cli.script(
        claude=using(cached_tokens=600, cost_usd=0.0, plan_tokens=1050, plan_usd=0.01), gpt=using(cost_usd=0.02)
    )
    end = cli.run("discuss", "REST?", *seats, "--plain").stdout
    assert "[claude] 1,050 tokens, plan, " in end
    assert "Cost: $0.0200 and plan ($0.0100 at list price), 2,100 tokens." in end
    rows = [line.strip("| ").split(" | ") for line in cli.run("show", "--cost").stdout.splitlines() if " | " in line]
    assert rows[0] == ["Calls", "Failed", "Tokens in", "Cached", "Tokens out", "Cost"]
    assert rows[2:] == [
        ["claude", "1", "0", "1,000", "60%", "50", "plan ($0.0100 at list price)"],
        ["gpt", "1", "0", "1,000", "0%", "50", "$0.0200"],
        ["council/1-blind", "2", "0", "2,000", "30%", "100", "$0.0200 and plan ($0.0100 at list price)"],
        ["total", "2", "0", "2,000", "30%", "100", "$0.0200 and plan ($0.0100 at list price)"],
    ]
    output = json.loads(cli.run("show", "--cost", "--json").stdout)
    assert output["total"]["cost_usd"] == 0.02
    assert output["seats"]["claude"]["cached_share"] == 0.6
    assert output["rounds"]["council/1-blind"]["plan_usd"] == 0.01


def test_an_unknown_price_next_to_free_ones_is_not_shown_as_free(cli: Cli) -> None:
    seats = cli.script(claude=using(cost_usd=0.0), gpt=using())
    assert "Cost: unknown, 2,100 tokens." in cli.run("discuss", "REST?", *seats).stdout


def test_costs_cannot_be_limited_to_a_round(cli: Cli) -> None:
    cli.run("discuss", "REST?", *cli.script(claude=council_seat("Use REST"), gpt=council_seat("Use REST")))
    refused = cli.run("show", "--cost", "--round", "1", code=2).stderr
    assert "--cost covers the whole session" in refused
    assert "Leave out --round" in refused
    for form in ("html", "jsonl"):
        refused = cli.run("show", "--cost", "--format", form, code=2).stderr
        assert f"--cost cannot be shown as {form}." in refused
        assert "--round" not in refused
    assert "markdown or json" in cli.run("show", "--help").stdout


def test_a_quote_is_a_table_or_json(cli: Cli) -> None:
    free = cli.script(local=council_seat("Use REST"))
    quoted = cli.run("discuss", "REST?", *PAID, *DIM, *free, "--quote", "--budget-usd", "0.001")
    head, claude, gpt, local, total, *notices = quoted.stdout.splitlines()
    assert head.split("\t")[:3] == ["Seat", "Voice", "Calls"]
    assert claude.split("\t")[:3] == ["claude", "paid:claude-haiku-4-5", "3 to 8"]
    assert [line.split("\t")[5] for line in (gpt, local)] == ["unknown", "free"]
    assert total.startswith("About $0.00")
    assert total.endswith("the price of dim:alpha is unknown. No model was asked and nothing was spent.")
    assert notices[0].startswith("The meeting is likely to cost more than the budget of $0.001")
    assert notices[1].startswith("The budget does not limit voices with an unknown price: dim:alpha")
    output = json.loads(cli.run("discuss", "REST?", *PAID, "--quote", "--json").stdout)
    assert output["calls"] == {"likely": 3, "most": 8}
    assert output["sentence"].startswith("About $")
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_a_quote_lists_unavailable_seats(cli: Cli) -> None:
    seats = ["--seat", "ghost=nosuch:foo", "--seat", "local=embedded:nothere"]
    quoted = cli.run("discuss", "REST?", *seats, "--quote").stdout
    assert "ghost is unavailable: There is no endpoint called `nosuch`." in quoted
    assert "local is unavailable: " in quoted
    output = json.loads(cli.run("discuss", "REST?", *DIM, *seats, "--quote", "--json").stdout)
    assert output["usd"] == {"likely": None, "most": None}
    assert [bool(row["cannot_speak"]) for row in output["seats"]] == [False, True, True]


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_budget_that_is_not_a_number_is_rejected(cli: Cli, value: str) -> None:
    assert "Invalid value for '--budget-usd'" in cli.run("discuss", "REST?", "--budget-usd", value, code=2).stderr
    assert "Invalid value for '--timeout'" in cli.run("amend", "last", "--timeout", value, code=2).stderr


def test_a_limit_in_the_config_is_checked_by_the_doctor(cli: Cli) -> None:
    (cli.home / "config.toml").write_text("[limits]\nbudget_usd = nan\n")
    checked = json.loads(cli.run("doctor", "--json", code=2).stdout)["config"]
    assert not checked["ok"]
    assert "limits.budget_usd cannot be nan" in checked["note"]


def test_a_token_budget_is_announced_before_the_meeting(cli: Cli) -> None:
    seats = cli.script(a=council_seat("Use REST"), b=council_seat("Use REST"))
    output = cli.run("discuss", "REST?", *seats, "--budget-tokens", "10").stderr
    assert output.startswith("The meeting is likely to use more than the budget of 10 tokens")


def test_a_round_that_the_budget_forbids_is_reported(cli: Cli) -> None:
    seats = cli.script(claude={**using(cost_usd=0.02)}, gpt={**council_seat("Use GraphQL"), "defaults": {}})
    output = cli.run("discuss", "REST?", *seats, "--budget-usd", "0.01", "--plain", code=3).stdout
    assert "Round council/2-ballot was not held: $0.0200 is spent, and the budget is $0.0100." in output


def test_an_interrupted_call_is_shown_as_possibly_charged(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *cli.script(a=HANGING_SEAT, b=HANGING_SEAT), "--plain") as terminal:
        terminal.expect("Round council/1-blind")
        terminal.type("\x03")
        terminal.end(130)
    state = json.loads(cli.run("status", "--json").stdout)
    assert (state["usage"]["total"]["calls"], state["usage"]["total"]["failed"]) == (2, 2)
    assert "of at most" not in cli.run("status").stdout


def test_the_estimated_cost_is_shown_and_confirmed_before_money_is_spent(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *PAID, "--plain") as terminal:
        screen = terminal.expect("Continue? [y/N]")
        terminal.type("y\n")
        assert "Round council/1-blind" in terminal.end(6)
    estimate = next(line for line in screen.splitlines() if line.startswith("About $"))
    assert estimate.endswith(" calls.")
    assert "Round council/1-blind" not in screen


def test_without_confirmation_nothing_is_spent_or_recorded(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *PAID, "--plain") as terminal:
        terminal.expect("Continue? [y/N]")
        terminal.type("\n")
        assert "No model was asked and nothing was spent." in terminal.end(3)
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_a_given_budget_replaces_the_confirmation(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *PAID, "--plain", "--budget-usd", "1") as terminal:
        screen = terminal.end(6)
    assert "Go ahead?" not in screen
    assert "About $" in screen


def test_a_free_meeting_shows_no_cost_estimate(cli: Cli) -> None:
    with cli.terminal(
        "discuss", "REST?", *cli.script(a=council_seat("Use REST"), b=council_seat("Use REST")), "--plain"
    ) as terminal:
        assert "calls" not in terminal.end(0)


def test_a_budget_names_the_costs_it_cannot_see_even_without_a_terminal(cli: Cli) -> None:
    assert (
        "The budget does not limit voices with an unknown price: dim:alpha"
        in cli.run("discuss", "REST?", *DIM, "--budget-usd", "1", code=6).stderr
    )
    assert cli.run("discuss", "REST?", *DIM, code=6).stderr == ""


def test_a_budget_of_zero_allows_no_paid_round(cli: Cli) -> None:
    free = cli.script(a=council_seat("Use REST"), b=council_seat("Use REST"))
    cli.run("discuss", "REST?", *free, "--budget-usd", "0")
    refused = cli.run("discuss", "REST?", *free, *PAID, "--budget-usd", "0", code=2).stderr
    assert refused.startswith(
        "Error: A budget of $0 allows only free voices and subscription plans, but paid:claude-haiku-4-5 "
    )


def test_a_narrow_terminal_shows_the_complete_costs(cli: Cli) -> None:
    seats = cli.script(claude=using(cost_usd=0.0, plan_tokens=1050, plan_usd=0.01), gpt=using(cost_usd=0.0213))
    cli.run("discuss", "REST?", *seats)
    for columns in (40, 60, 100):
        with cli.terminal("show", "--cost", columns=columns) as terminal:
            screen = terminal.end(0)
        assert "$0.0213" in screen
        assert "…" not in screen
        assert "at list price)" in " ".join(screen.split())
        assert max(len(line.rstrip()) for line in screen.splitlines()) <= columns
    with cli.terminal("show", "--cost", columns=40) as terminal:
        assert "gpt\n  Calls: 1\n  Failed: 0\n  Tokens in: 1,000\n" in terminal.end(0)


def test_a_narrow_terminal_shows_a_complete_session(cli: Cli) -> None:
    long = "deepseek-reasoner-with-a-long-name"
    seats = cli.script(**{"claude": using(plan_tokens=1050, plan_usd=0.01), long: using(cost_usd=0.0213)})
    cli.run("discuss", "REST?", *seats)
    for columns in (60, 80):
        with cli.terminal("show", columns=columns) as terminal:
            screen = terminal.end(0)
        assert "…" not in screen
        assert "at list price" in " ".join(screen.split())
        assert max(len(line.rstrip()) for line in screen.splitlines()) <= columns


def test_a_narrow_terminal_shows_complete_tables_of_voices_and_keys(cli: Cli) -> None:
    cli.run("keys", "set", "openai", input="sk-" + "a1B2" * 10)
    for command, words in ((["voices"], "Anthropic"), (["keys", "list"], "your secrets file"), (["list"], "REST?")):
        cli.run("discuss", "REST?", *cli.script(a=council_seat("Use REST"), b=council_seat("Use REST")))
        with cli.terminal(*command, columns=40) as terminal:
            assert words in terminal.end(0), command
