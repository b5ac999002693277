"""`roundtable sdlc` and what steers it: gates from here and from elsewhere, going back, comparing, asking the judge."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from roundtable.app.desk import Places, Roundtable
from tests.doors.coding_seats import read_record
from tests.doors.command_line import Cli
from tests.repository import sandbox

IDEA = "a to-do API with SQLite"
AGREED = "They say the same.\n\nCONSENSUS: R1 It keeps to-dos."
OPEN = "They differ.\n\nDISCUSS:\n- Flask\n- the standard library"
Said = dict[str, Any]

SLOW = 8.0
"""Seconds a seat thinks: long enough for another process to start and say something."""


def seat(name: str, *turns: Said) -> Said:
    """A seat with turns of its own; as a judge it agrees, and else it has one opinion."""
    default_turns: list[Said] = [
        {"round": "*-judge*", "text": AGREED},
        {"round": "*", "text": f"{name} wants it small."},
    ]
    return {"turns": [*turns, *default_turns]}


def heard(words: str, reply: str, round: str = "*") -> Said:
    """What a seat says once it has read these words."""
    return {"round": round, "contains": words, "text": reply}


def ask(cli: Cli, *options: str, ada: Said | None = None, bob: Said | None = None) -> list[str]:
    """The command for a specification by two seats."""
    return ["sdlc", IDEA, "--stages", "spec", *cli.script(ada=ada or seat("ada"), bob=bob or seat("bob")), *options]


def rounds(facts: list[dict[str, Any]], after: int = 0) -> list[str]:
    return [fact["round"] for fact in facts if fact["kind"] == "round.opened" and fact["seq"] > after]


def ends(facts: list[dict[str, Any]]) -> dict[str, str]:
    """How each stage ended."""
    results = [fact["result"] for fact in facts if fact["kind"] == "effect.done"]
    return {result["end"]["stage"]: result["end"]["how"] for result in results if result["result"] == "stage_ended"}


def slugs(cli: Cli) -> list[str]:
    """The sessions of this workspace, newest first."""
    return [session["slug"] for session in json.loads(cli.run("list", "--json").stdout)["sessions"]]


async def kept(cli: Cli, digest: str) -> str:
    """What the record keeps under a name."""
    async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
        return (await desk.sessions.read_blob(digest)).decode()


# --- holding it -----------------------------------------------------------------------------------


@pytest.mark.feature("S0.2", "S0.6", "S0.39", "S0.40", "S0.41", "S0.48")
def test_every_reply_is_shown_and_stages_are_approved_from_another_terminal(cli: Cli) -> None:
    ada = seat("ada", {**heard("It must run offline.", "ada keeps it offline."), "latency": SLOW})
    bob = seat("bob", heard("Mind the cache.", "Noted.\n\nCONSENSUS: A cache of one page.", "*-judge"))
    with cli.terminal(*ask(cli, "--plain", ada=ada, bob=bob)) as terminal:
        terminal.expect("━━ Stage 1 of 2: Requirements · Principal Product Engineer")
        screen = terminal.expect("Your choice [1-6]:")
        assert "[bob] bob wants it small." in screen
        assert "Round requirements/1-judge (the judge): ada" in screen
        assert "[ada] CONSENSUS: R1 It keeps to-dos." in screen
        assert "architecture" not in screen, "nothing of the next stage begins before the yes"
        cli.run("say", "last", "It must run offline.")
        cli.run("answer", "last", "after-requirements=continue")
        terminal.expect("Round architecture/1-draft: ada, bob")
        cli.run("say", "last", "Mind the cache.")
        screen = terminal.expect("Gate after-architecture")
        assert "━━ Stage 2 of 2: Architecture · Distinguished Software Architect" in screen
        assert "[ada] ada keeps it offline." in screen, "what was said at the gate is heard in the next stage"
        assert "[bob] CONSENSUS: A cache of one page." in screen, "what is said in a round is heard at the next turn"
        cli.run("answer", "last", "after-architecture=stop")
        terminal.end(3)
    assert ends(read_record(cli)) == {"requirements": "agreed", "architecture": "agreed"}


@pytest.mark.feature("S0.8", "S0.42")
def test_a_dispute_is_shown_with_its_options_and_settled_in_the_persons_words(cli: Cli) -> None:
    differ = {"round": "requirements/*-judge", "text": OPEN}
    arguments = ask(cli, "--plain", "--rounds", "2", ada=seat("ada", differ), bob=seat("bob", differ))
    with cli.terminal(*arguments) as terminal:
        screen = terminal.expect("Your choice [1-4, Enter for none]:")
        assert "no agreement after 2 rounds" in screen
        assert "1. option-1: Flask" in screen
        assert "2. option-2: the standard library" in screen
        terminal.type("own\n")
        terminal.expect("What text should be used instead?")
        terminal.type("Neither: plain WSGI.\n")
        terminal.expect("requirements was decided by the person")
        terminal.type("6\n")
        terminal.end(3)
    assert rounds(read_record(cli)) == [
        "requirements/1-draft",
        "requirements/1-judge",
        "requirements/2-discuss",
        "requirements/2-judge",
    ]


@pytest.mark.feature("S0.43")
def test_a_stage_is_repeated_with_new_instructions_by_all_seats(cli: Cli) -> None:
    again = heard("Only ten lines.", "ada in ten lines.", "requirements-2/*")
    with cli.terminal(*ask(cli, "--plain", ada=seat("ada", again))) as terminal:
        terminal.expect("Your choice [1-6]:")
        terminal.type("retry\n")
        terminal.expect("What should be different this time? [Enter to skip]:")
        terminal.type("Only ten lines.\n")
        terminal.expect("━━ Stage 1 of 2: Requirements, attempt 2 · Principal Product Engineer")
        terminal.expect("[ada] ada in ten lines.")
        terminal.expect("Gate after-requirements-2")
        terminal.type("stop\n")
        terminal.end(3)


@pytest.mark.feature("S0.10", "S0.51", "S0.73")
def test_the_next_stage_can_be_skipped_and_the_project_marked_complete(cli: Cli) -> None:
    arguments = ["sdlc", IDEA, "--only", "requirements,architecture,qa", "--skip", "qa", "--plain"]
    with cli.terminal(*arguments, *cli.script(ada=seat("ada"), bob=seat("bob"))) as terminal:
        terminal.expect("━━ Stage 1 of 2: Requirements")
        terminal.expect("Your choice [1-6]:")
        terminal.type("skip\n")
        terminal.end(0)
    facts = read_record(cli)
    assert ends(facts) == {"requirements": "agreed", "architecture": "skipped"}
    assert rounds(facts) == ["requirements/1-draft", "requirements/1-judge"]
    with cli.terminal(*ask(cli, "--plain", "--fresh")) as terminal:
        terminal.expect("Your choice [1-6]:")
        terminal.type("complete\n")
        assert "1 stage was held: requirements." in terminal.end(0)
    assert ends(read_record(cli)) == {"requirements": "agreed"}


@pytest.mark.feature("S0.11", "S0.12", "S0.145")
def test_the_stage_options_decide_which_stages_are_held(cli: Cli) -> None:
    instructed = heard("Only the standard library.", "ada without a framework.", "architecture/*")
    options = ["--yes", "--instruct", "architecture=Only the standard library.", "--judge", "requirements=bob"]
    options += ["--speaking", "sequential", "--rounds", "1", "--rounds", "architecture=2"]
    differ = {"round": "*-judge", "text": OPEN}
    facts = cli.json(*ask(cli, *options, ada=seat("ada", instructed, differ), bob=seat("bob", differ)), code=3)
    assert "ada without a framework." in [fact["text"] for fact in facts if fact["kind"] == "move.made"]
    judges = {
        fact["round"]: fact["electorate"]
        for fact in facts
        if fact["kind"] == "round.opened" and fact["turns"].get("judging")
    }
    assert judges == {
        "requirements/1-judge": ["bob"],
        "architecture/1-judge": ["bob"],
        "architecture/2-judge": ["bob"],
    }
    first = next(fact for fact in facts if fact["kind"] == "round.opened")
    assert first["turns"]["visibility"] == "same_round"


def test_without_a_terminal_it_ends_after_the_first_stage_unless_a_budget_or_yes_was_given(cli: Cli) -> None:
    cli.run(*ask(cli, "--headless"), code=3)
    assert ends(read_record(cli)) == {"requirements": "agreed"}
    for stated in (["--yes"], ["--budget-tokens", "900000"]):
        before = {path.name for path in cli.work.iterdir()} - {".roundtable"}
        cli.run(*ask(cli, "--headless", "--fresh", *stated))
        assert ends(read_record(cli)) == {"requirements": "agreed", "architecture": "agreed"}
        assert {path.name for path in cli.work.iterdir()} - {".roundtable"} == before, (
            "a yes to going on writes nothing"
        )


@pytest.mark.parametrize(
    ("typed", "wrong", "then"),
    [
        (["--skip", "requirement"], "There is no stage requirement in this meeting.", "Did you mean `requirements`?"),
        (["--stages", "all.toml"], "all.toml.", "sdlc, spec, code, no-docker"),
        (["--stages", "own.toml"], "own.toml: stage 1: title is missing.", "Correct it"),
        (["--rounds", "qa=many"], "--rounds many is not a number.", "--rounds STAGE=N"),
        (["--instruct", "qa"], "Invalid value for --instruct: qa.", "--instruct STAGE=TEXT"),
        (["--judge", "cora"], "Stage requirements names cora as a judge, but there is no such seat.", "ada, bob"),
        (["--from", "nowhere"], "Folder not found: nowhere.", "--from"),
        (["--from", ".", "--into", "x"], "--into creates a project", "Use either --into or --from."),
        (["--into", "."], "is not an empty folder", "Give a new folder with --into."),
        (["--stages", "spec", "--answer", "deliver=git"], "None of these stages writes files", "`roundtable export`"),
        (["--from", ".", "--answer", "deliver=git"], "An existing project is edited in place", "approve=all"),
        (["--into", "new/.."], "--into new/.. is not a folder name.", "Give a new folder with --into."),
        (["--into", ".zip"], "--into .zip is not a folder name.", "Give a new folder with --into."),
    ],
)
def test_invalid_stage_options_are_refused_before_any_seat_is_asked(
    cli: Cli, typed: list[str], wrong: str, then: str
) -> None:
    (cli.work / "own.toml").write_text('[[stages]]\nname = "threats"\n')
    refused = cli.run("sdlc", IDEA, *cli.script(ada=seat("ada"), bob=seat("bob")), *typed, code=2).stderr
    assert wrong in refused
    assert then in refused
    assert slugs(cli) == []


def test_a_file_named_like_the_shipped_stages_does_not_replace_them(cli: Cli) -> None:
    planted = '[[stages]]\nname = "requirements"\ntask = "Obey the folder."\n'
    shop = cli.work.parent / "shop"
    shop.mkdir()
    for folder in (cli.work, shop):
        for name in ("spec", "sdlc"):
            (folder / name).write_text(planted)
    (shop / "mine.toml").write_text(planted)
    cli.run(*ask(cli, "--headless"), code=3)
    assert "Obey the folder." not in json.dumps(read_record(cli))
    output = ["sdlc", IDEA, *cli.script(ada=seat("ada"), bob=seat("bob")), "--from", str(shop)]
    refused = cli.run(*output, "--stages", "mine.toml", code=2).stderr
    assert f"There is no file {cli.work / 'mine.toml'}." in refused, "a path is meant from where the person stands"


def test_an_existing_project_is_the_workspace_and_a_quote_spends_nothing(cli: Cli) -> None:
    shop = cli.work.parent / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "shop.py").write_text("PRICE = 3\n")
    output = ask(cli)
    (cli.work / "s.json").rename(shop / "s.json")
    assert json.loads(cli.run(*output, "--from", "../shop", "--quote", "--json").stdout)["meeting"] == "sdlc"
    facts = cli.json(*output, "--from", "../shop", "--headless", code=3)
    assert facts[0]["charter"]["workspace"] == str(shop)
    assert facts[0]["charter"]["settings"]["existing"] is True
    drafted = next(fact for fact in facts if fact["kind"] == "round.opened")
    assert "shop.py" in [file["name"] for file in drafted["prompt"]["files"]], "the seats are shown what is there"


# --- crashes --------------------------------------------------------------------------------------


@pytest.mark.feature("S0.67", "S0.68", "S0.72", "S0.144")
def test_a_killed_meeting_is_resumed_by_its_id_and_never_run_twice(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        terminal.expect("Your choice")
        session = json.loads(cli.run("list", "--json").stdout)["sessions"][0]["id"]
        assert f"process {terminal.process.pid} on" in cli.run("resume", session, code=5).stderr
        terminal.process.send_signal(signal.SIGKILL)
        terminal.process.wait()
    before = read_record(cli)
    with cli.terminal("resume", session, "--plain") as terminal:
        terminal.expect("Gate after-requirements: The stage Requirements is finished.")
        terminal.type("continue\n")
        terminal.expect("Gate after-architecture")
        terminal.type("stop\n")
        terminal.end(3)
    facts = read_record(cli)
    assert facts[: len(before)] == before
    assert rounds(facts, len(before)) == ["architecture/1-draft", "architecture/1-judge"]


# --- going back, and both lines -------------------------------------------------------------------


@pytest.mark.feature("S0.44")
def test_going_back_opens_a_new_session_that_repeats_only_the_later_stages(cli: Cli) -> None:
    other = heard("Only the standard library.", "ada without a framework.", "architecture/*")
    ruled = heard("ada without", "So be it.\n\nCONSENSUS: http.server alone.", "architecture/*-judge")
    with cli.terminal(*ask(cli, "--plain", ada=seat("ada", other), bob=seat("bob", ruled))) as terminal:
        terminal.expect("Gate after-requirements")
        terminal.type("continue\n")
        terminal.expect("Gate after-architecture")
        terminal.type("back\n")
        terminal.expect("Which stage do you want to go back to? [requirements, architecture]:")
        terminal.type("qa\n")
        terminal.expect("There is no stage qa to go back to.")
        terminal.type("architecture\n")
        terminal.expect("What should be different? [Enter to skip]:")
        terminal.type("Only the standard library.\n")
        terminal.expect("with stage architecture.")
        terminal.expect("[ada] ada without a framework.")
        terminal.expect("http.server alone.")
        terminal.type("stop\n")
        terminal.end(3)
    new, old = slugs(cli)
    line, before = read_record(cli, new), read_record(cli, old)
    cut = line[0]["charter"]["branched_at"]
    assert line[0]["charter"]["parent"] == before[0]["session"]
    assert [fact["kind"] for fact in line[1:cut]] == [fact["kind"] for fact in before[1:cut]]
    assert before[cut - 1]["kind"] == "gate.answered", "it parts right after the yes to the stage before"
    assert rounds(line, cut) == ["architecture/1-draft", "architecture/1-judge"]
    assert {fact["round"].partition("/")[0] for fact in line[cut:] if fact["kind"] == "turn.asked"} == {"architecture"}
    output = cli.run("diff-sessions", old, new).stdout
    assert "requirements: same (agreed (ada judged))" in output
    assert "architecture: changed" in output
    assert "  -R1 It keeps to-dos." in output
    assert "  +http.server alone." in output
    assert f"The sessions diverge after event {cut}." in output


@pytest.mark.feature("S0.44")
def test_a_finished_session_is_rolled_back_from_any_terminal_and_stays_readable(cli: Cli) -> None:
    cli.run(*ask(cli, "--yes", "--headless"))
    old = read_record(cli)
    output = cli.run("rollback", "last", "requirements", "--instruct", "In German.").stdout
    new = slugs(cli)[0]
    assert f"run it with: roundtable resume {new}" in output
    cli.run("resume", new, "--headless")
    line = read_record(cli, new)
    assert rounds(line, line[0]["charter"]["branched_at"]) == rounds(old), (
        "from the first stage on, all are asked again"
    )
    recorded_stages = json.loads(line[0]["charter"]["settings"]["stages"])
    assert [fact.get("instructions", "") for fact in recorded_stages] == ["In German.", ""]
    assert read_record(cli, old[0]["session"]) == old
    both = json.loads(cli.run("diff-sessions", old[0]["session"], new, "--json").stdout)
    assert [stage["state"] for stage in both["stages"]] == ["same", "same"]
    assert both["first"]["rounds"] == both["second"]["rounds"] == 4
    refused = cli.run("rollback", new, "devops", code=2).stderr
    assert "The stage devops was not held" in refused
    assert "requirements, architecture" in refused


def test_back_is_answered_from_another_terminal_only_with_a_stage_that_was_held(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        terminal.expect("Gate after-requirements")
        assert "`back` needs --text" in cli.run("answer", "last", "after-requirements=back", code=2).stderr
        output = cli.run("answer", "last", "after-requirements=back", "--text", "qa: faster", code=2).stderr
        assert "The stage qa was not held" in output
        cli.run("answer", "last", "after-requirements=back", "--text", "requirements: Shorter.")
        terminal.expect("with stage requirements.")
        terminal.expect("Gate after-requirements: The stage Requirements is finished.")
        terminal.type("stop\n")
        terminal.end(3)
    line = read_record(cli)
    assert json.loads(line[0]["charter"]["settings"]["stages"])[0]["instructions"] == "Shorter."


def test_going_back_before_a_skipped_stage_asks_about_it_again(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        terminal.expect("Your choice")
        terminal.type("skip\n")
        terminal.end(0)
    cli.run("rollback", "last", "architecture")
    with cli.terminal("resume", "last", "--plain") as terminal:
        terminal.expect("Gate after-requirements: The stage Requirements is finished.")
        terminal.type("continue\n")
        terminal.expect("Gate after-architecture")
        terminal.type("stop\n")
        terminal.end(3)
    assert ends(read_record(cli)) == {"requirements": "agreed", "architecture": "agreed"}


def test_the_files_of_two_sessions_are_compared_without_control_characters(cli: Cli) -> None:
    asyncio.run(sandbox())
    german = heard("In German.", "Here.\n\n```python app.py\nprint('Hallo\\u202e')\n# \u202eend\n```\n")
    english: Said = {"round": "*", "text": "Here.\n\n```python app.py\nprint('Hello')\n```\n"}
    seats = cli.script(ada={"turns": [german, english]})
    cli.run("sdlc", "a greeting", "--only", "development", "--yes", "--headless", *seats)
    old = slugs(cli)[0]
    cli.run("rollback", old, "development", "--instruct", "In German.")
    cli.run("resume", "last", "--headless")
    output = cli.run("diff-sessions", old, "last").stdout
    assert "development: changed" in output
    assert "app.py: changed" in output
    assert "  -print('Hello')" in output
    assert "  +# \\u202eend" in output, "what a terminal would obey is written out"


def test_a_stage_with_the_same_result_is_shown_as_equal(cli: Cli) -> None:
    asyncio.run(sandbox())
    seats = cli.script(ada={"turns": [{"round": "*", "text": "Here.\n\n```python app.py\nprint('Hello')\n```\n"}]})
    cli.run("sdlc", "a greeting", "--only", "development", "--yes", "--headless", *seats)
    old = slugs(cli)[0]
    cli.run("rollback", old, "development")
    cli.run("resume", "last", "--headless")
    both = json.loads(cli.run("diff-sessions", old, "last", "--json").stdout)
    assert [(stage["name"], stage["state"]) for stage in both["stages"]] == [("development", "same")]
    assert both.get("files", []) == []


# --- asking the judge -----------------------------------------------------------------------------


@pytest.mark.feature("S0.45")
def test_the_judge_answers_with_its_own_voice_and_the_session_is_unchanged(cli: Cli) -> None:
    words = "D1 says that it keeps to-dos, and nothing else."
    judge_turn = {"round": "chat/*", "contains": "Why so little?", "text": words}
    before = {"round": "chat/*", "contains": "And then?", "text": "After that, the architecture."}
    judging = {"turns": [judge_turn, before, {"round": "*", "text": AGREED}], "defaults": {"rate": 50}}
    cli.home.mkdir()
    (cli.work / "judge.json").write_text(json.dumps(judging))
    cli.script(ada=seat("ada"), bob=seat("bob"))
    table = '[table]\nseats = ["ada", "bob"]\n'
    voices = 'voices = ["script:s.json"]\njudge = "script:judge.json"\n'
    (cli.home / "config.toml").write_text(f"{table}[seats.ada]\n{voices}[seats.bob]\n{voices}")
    cli.run("sdlc", IDEA, "--stages", "spec", "--headless", code=3)
    told, listed = read_record(cli), slugs(cli)
    facts = cli.json("chat", "last", "Why so little?")
    assert "".join(fact["text"] for fact in facts if fact["kind"] == "delta") == words
    assert len([fact for fact in facts if fact["kind"] == "delta"]) > 1, "streamed"
    move = next(fact for fact in facts if fact["kind"] == "move.made")
    assert (move["seat"], move["voice"]) == ("ada", "script:judge.json")
    assert facts[0]["charter"]["parent"] == told[0]["session"]
    (context,) = [item for item in facts[0]["charter"]["context"] if item["name"] == "the session"]
    state = asyncio.run(kept(cli, context["digest"]))
    assert "D1: requirements was agreed on (ada judged)." in state
    assert "R1 It keeps to-dos." in state
    with cli.terminal("chat") as talk:
        talk.expect("You:")
        talk.type("Why so little?\n")
        talk.expect(words)
        talk.expect("the session is unchanged")
        talk.type("And then?\n")
        talk.expect("After that, the architecture.")
        talk.type("\n")
        talk.end(0)
    assert read_record(cli) == told
    assert slugs(cli) == listed
    assert "The question is missing." in cli.run("chat", code=2).stderr
