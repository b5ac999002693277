"""Money at the command line: the quote before, the line at the start, the bill afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.terminal import Cli, seat

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
    return {**seat("Use REST"), "defaults": {"usage": {"input_tokens": 1000, "output_tokens": 50, **usage}}}


def test_the_bill_of_a_session(cli: Cli) -> None:
    seats = cli.script(
        claude=using(cached_tokens=600, cost_usd=0.0, plan_tokens=1050, plan_usd=0.01), gpt=using(cost_usd=0.02)
    )
    end = cli.run("discuss", "REST?", *seats, "--plain").stdout
    assert "[claude] 1,050 tokens, plan, " in end
    assert "Cost: $0.0200 and plan ($0.0100 by the token), 2,100 tokens." in end
    rows = [line.strip("| ").split(" | ") for line in cli.run("show", "--cost").stdout.splitlines() if " | " in line]
    assert rows[0] == ["Calls", "Failed", "Tokens in", "Cached", "Tokens out", "Cost"]
    assert rows[2:] == [
        ["claude", "1", "0", "1,000", "60%", "50", "plan ($0.0100 by the token)"],
        ["gpt", "1", "0", "1,000", "0%", "50", "$0.0200"],
        ["council/1-blind", "2", "0", "2,000", "30%", "100", "$0.0200 and plan ($0.0100 by the token)"],
        ["total", "2", "0", "2,000", "30%", "100", "$0.0200 and plan ($0.0100 by the token)"],
    ]
    told = json.loads(cli.run("show", "--cost", "--json").stdout)
    assert told["total"]["cost_usd"] == 0.02
    assert told["seats"]["claude"]["cached_share"] == 0.6
    assert told["rounds"]["council/1-blind"]["plan_usd"] == 0.01


def test_an_unknown_price_beside_free_ones_is_not_free(cli: Cli) -> None:
    seats = cli.script(claude=using(cost_usd=0.0), gpt=using())
    assert "Cost: unknown, 2,100 tokens." in cli.run("discuss", "REST?", *seats).stdout


def test_the_bill_is_of_the_whole_session(cli: Cli) -> None:
    cli.run("discuss", "REST?", *cli.script(claude=seat("Use REST"), gpt=seat("Use REST")))
    assert "one table of the whole session" in cli.run("show", "--cost", "--round", "1", code=2).stderr
    assert "one table of the whole session" in cli.run("show", "--cost", "--format", "html", code=2).stderr


def test_a_quote_for_people_and_programs(cli: Cli) -> None:
    free = cli.script(local=seat("Use REST"))
    quoted = cli.run("discuss", "REST?", *PAID, *DIM, *free, "--quote", "--budget-usd", "0.001")
    head, claude, gpt, local, total, *notices = quoted.stdout.splitlines()
    assert head.split("\t")[:3] == ["Seat", "Voice", "Calls"]
    assert claude.split("\t")[:3] == ["claude", "paid:claude-haiku-4-5", "3 to 8"]
    assert [line.split("\t")[5] for line in (gpt, local)] == ["unknown", "free"]
    assert total.startswith("About $0.00")
    assert total.endswith("the price of dim:alpha is not known. Nothing was asked, nothing was spent.")
    assert notices[0].startswith("At most it costs more than the budget of $0.001")
    assert notices[1].startswith("The budget cannot see what dim:alpha costs")
    told = json.loads(cli.run("discuss", "REST?", *PAID, "--quote", "--json").stdout)
    assert told["calls"] == {"likely": 3, "most": 8}
    assert told["sentence"].startswith("About $")
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_a_person_is_told_before_money_is_spent(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *PAID, "--plain") as terminal:
        seen = terminal.end(6)
    told = next(line for line in seen.splitlines() if line.startswith("About $"))
    assert told.endswith(" calls.")
    assert seen.index(told) < seen.index("Round council/1-blind")


def test_what_costs_nothing_is_not_announced(cli: Cli) -> None:
    with cli.terminal("discuss", "REST?", *cli.script(a=seat("Use REST"), b=seat("Use REST")), "--plain") as terminal:
        assert "calls" not in terminal.end(0)


def test_a_budget_says_what_it_cannot_see_also_to_nobody(cli: Cli) -> None:
    assert (
        "The budget cannot see what dim:alpha" in cli.run("discuss", "REST?", *DIM, "--budget-usd", "1", code=6).stderr
    )
    assert cli.run("discuss", "REST?", *DIM, code=6).stderr == ""


def test_a_budget_of_nothing(cli: Cli) -> None:
    free = cli.script(a=seat("Use REST"), b=seat("Use REST"))
    cli.run("discuss", "REST?", *free, "--budget-usd", "0")
    refused = cli.run("discuss", "REST?", *free, *PAID, "--budget-usd", "0", code=2).stderr
    assert refused.startswith("Error: A budget of $0 leaves free voices and plans, and paid:claude-haiku-4-5 is paid")
