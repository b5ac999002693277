"""The stages as data: the shipped ones, shorter lists, a person's own list, and options that override both."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.opening.stage_lists import ShippedStages, StageListCatalog, StageOptions
from roundtable.app.settings.config import trust_workspace
from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound, NotTrusted, UsageError
from roundtable.core.stages import Stage, encode_session_stages
from roundtable.core.values import Charter, Limits, Seat

SEATS = (Seat("ada", ("script:s.json",)), Seat("bob", ("script:s.json",)))

SEVEN = {
    "requirements": ("Requirements", "Principal Product Engineer", "discussion", 2048),
    "architecture": ("Architecture", "Distinguished Software Architect", "discussion", 4096),
    "development": ("Development", "Principal Software Engineer", "files", 8192),
    "code-review": ("Code Review", "Staff Engineer", "review", 4096),
    "qa": ("QA", "Principal QA Engineer", "files", 8192),
    "devops": ("DevOps", "Senior Platform Engineer", "files", 4096),
    "execution": ("Execution and Analysis", "SRE and Runtime Debugger", "run", 8192),
}


async def opened(desk: Roundtable, **agenda: object) -> Charter:
    """Return the charter of a meeting in stages without recording it."""
    return (
        await desk.meetings.draft(msgspec.convert({"question": "A to-do list", "meeting": "sdlc", **agenda}, Agenda))
    )[0]


def names(stages: tuple[Stage, ...]) -> list[str]:
    return [stage.name for stage in stages if stage.enabled]


@pytest.mark.feature("S0.9", "S0.21", "S0.22", "S0.23", "S0.24", "S0.25", "S0.26", "S0.27", "S0.28")
def test_the_seven_stages_have_their_order_roles_and_budgets(desk: Roundtable) -> None:
    assert {
        stage.name: (stage.title, stage.role, stage.kind, stage.tokens) for stage in desk.meetings.find_stages("sdlc")
    } == SEVEN
    assert names(desk.meetings.find_stages("sdlc")) == list(SEVEN)


@pytest.mark.parametrize(
    ("way", "stages"),
    [
        ("spec", ["requirements", "architecture"]),
        ("code", ["development", "code-review"]),
        ("no-docker", ["requirements", "architecture", "development", "code-review", "qa"]),
    ],
)
def test_shorter_stage_lists_are_shipped(desk: Roundtable, way: str, stages: list[str]) -> None:
    assert names(desk.meetings.find_stages(way)) == stages


@pytest.mark.feature("S0.145")
def test_every_stage_has_three_rounds_by_default() -> None:
    assert {stage.rounds for stage in ShippedStages.load().stages} == {3}
    told = StageOptions(rounds={"": 2, "qa": 5}).apply_to(ShippedStages.load().stages)
    assert {stage.name: stage.rounds for stage in told} == {**dict.fromkeys(SEVEN, 2), "qa": 5}
    with pytest.raises(ConfigError, match="rounds must be 9 or less"):
        StageOptions(rounds={"qa": 10}).apply_to(ShippedStages.load().stages)


@pytest.mark.feature("S0.10", "S0.11", "S0.51")
def test_stages_can_be_switched_off_and_instructed_before_the_start() -> None:
    options = StageOptions(skip=("qa", "devops"), instructions={"architecture": "No framework."})
    told = options.apply_to(ShippedStages.load().stages)
    assert names(told) == ["requirements", "architecture", "development", "code-review", "execution"]
    assert len(told) == len(SEVEN), "what is left out is still known by its name"
    assert {stage.name: stage.instructions for stage in told if stage.instructions} == {"architecture": "No framework."}
    assert names(StageOptions(only=("qa", "development"), skip=("qa",)).apply_to(ShippedStages.load().stages)) == [
        "development"
    ]


def test_the_judge_and_the_speaking_order_are_set_for_one_stage_or_all() -> None:
    told = StageOptions(judge={"": "ada", "qa": "bob"}, speaking="sequential").apply_to(ShippedStages.load().stages)
    assert {stage.name: stage.judge for stage in told} == {**dict.fromkeys(SEVEN, "ada"), "qa": "bob"}
    assert {stage.speaking for stage in told} == {"sequential"}


def test_an_unknown_stage_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="no stage architektur in this meeting") as wrong:
        StageOptions(instructions={"architektur": "No framework."}).apply_to(ShippedStages.load().stages)
    assert wrong.value.help.startswith("Did you mean `architecture`?")
    with pytest.raises(UsageError, match="All stages are excluded"):
        StageOptions(skip=tuple(SEVEN)).apply_to(ShippedStages.load().stages)


OWN = """
[[stages]]
name = "requirements"
instructions = "Ten lines at most."

[[stages]]
name = "threats"
title = "Threats"
role = "Security Engineer"
kind = "discussion"
tokens = 1024
rounds = 1
task = "Say what an attacker would try."
"""


def own(name: str) -> str:
    """Return a list of one stage with this name."""
    return f'[[stages]]\nname = "{name}"\n{OWN[OWN.index("title = ") :]}'


def test_a_persons_own_stage_list_changes_shipped_stages_and_adds_new_ones(desk: Roundtable, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN)
    first, second = desk.meetings.find_stages(str(tmp_path / "mine.toml"))
    assert (first.name, first.role, first.instructions) == (
        "requirements",
        "Principal Product Engineer",
        "Ten lines at most.",
    )
    assert (second.name, second.role, second.tokens, second.rounds) == ("threats", "Security Engineer", 1024, 1)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('[[stages]]\nname = "threats"\n', "stage 1: title is missing."),
        ('[[stages]]\nname = "qa"\ntone = "calm"\n', "stage 1: there is no setting tone."),
        (
            '[[stages]]\nname = "qa"\nkind = "dance"\n',
            "stage 1: kind cannot be dance; allowed values: discussion, files",
        ),
        ('[[stages]]\nname = "qa"\n[[stages]]\nname = "qa"\n', "two stages have the name qa."),
        (own("after-a"), "the stage name after-a is reserved for a gate"),
        (own("after"), "the stage name after is reserved for a gate"),
        (own("a-dispute"), "the stage name a-dispute is reserved for a gate"),
        (own("a-rerun"), "the stage name a-rerun is reserved for a gate"),
        (own("deliver"), "the stage name deliver is reserved for a gate"),
        (own("a-2"), "stage 1 has the invalid name a-2."),
        (own("Threats"), "stage 1 has the invalid name Threats."),
        (own("a\\n"), "stage 1 has the invalid name a."),
        (own(""), "stage 1 has the invalid name (empty)."),
        ("stages = []\n", "the list has no stages."),
        ("stages = 3\n", "stages must be a list, not a whole number."),
        ("[[stages]\n", "mine.toml is not valid TOML"),
    ],
)
def test_an_invalid_stage_list_is_refused_with_the_place(text: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as refused:
        StageListCatalog.parse(text, "mine.toml")
    assert wrong in refused.value.message
    assert refused.value.help


def test_a_file_in_the_current_folder_never_replaces_a_stage_list_of_that_name(
    desk: Roundtable, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    for name in ("sdlc", "spec", "audit", "audit.toml"):
        (workspace / name).write_text(OWN)
    assert names(desk.meetings.find_stages("sdlc")) == list(SEVEN)
    with pytest.raises(NotFound, match="no list of stages audit"):
        desk.meetings.find_stages("audit")
    assert (
        names(desk.meetings.find_stages("audit.toml"))
        == names(desk.meetings.find_stages("./audit"))
        == ["requirements", "threats"]
    )


def test_a_stage_list_is_found_by_name_and_needs_trust_in_a_workspace(
    desk: Roundtable, places: Places, workspace: Path
) -> None:
    with pytest.raises(NotFound, match="no list of stages audit") as unknown:
        desk.meetings.find_stages("audit")
    assert "sdlc, spec, code, no-docker" in unknown.value.help
    brought = workspace / ".roundtable" / "stages"
    brought.mkdir(parents=True)
    (brought / "audit.toml").write_text(OWN)
    with pytest.raises(NotTrusted, match="list of stages audit is defined in this workspace"):
        desk.meetings.find_stages("audit")
    trust_workspace(places, workspace)
    assert names(desk.meetings.find_stages("audit")) == ["requirements", "threats"]
    (brought / "audit.toml").write_text(OWN.replace("Ten", "Two"))
    with pytest.raises(NotTrusted):
        desk.meetings.find_stages("audit")
    (places.config / "stages").mkdir(parents=True)
    (places.config / "stages" / "mine.toml").write_text(OWN)
    assert names(desk.meetings.find_stages("mine")) == ["requirements", "threats"]


def test_the_stage_list_in_the_docs_can_be_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sdlc.md").read_text()
    listed = StageListCatalog.parse(page.partition("```toml\n")[2].partition("```")[0], "docs/sdlc.md")
    assert [(stage.name, stage.rounds, stage.judge, stage.speaking) for stage in listed] == [
        ("requirements", 2, "", "blind"),
        ("threats", 3, "claude", "blind"),
        ("development", 3, "", "sequential"),
    ]
    assert all(f"| `{name}` | {role} |" in page for name, (_, role, _, _) in SEVEN.items())


async def test_a_meeting_in_stages_without_a_list_has_all_seven(desk: Roundtable) -> None:
    assert names(Stage.list_of(await opened(desk, seats=SEATS))) == list(SEVEN)


async def test_the_judge_of_a_stage_must_be_a_seat_of_the_meeting(desk: Roundtable) -> None:
    stages = encode_session_stages(StageOptions(judge={"qa": "cora"}).apply_to(ShippedStages.load().stages))
    with pytest.raises(UsageError, match="Stage qa names cora as a judge") as refused:
        await opened(desk, seats=SEATS, settings={"stages": stages})
    assert "ada, bob" in refused.value.help


async def test_the_participants_of_a_stage_must_be_seats_of_the_meeting(desk: Roundtable) -> None:
    listed = StageListCatalog.parse('[[stages]]\nname = "qa"\nseats = ["ada", "cora"]\n', "mine.toml")
    with pytest.raises(UsageError, match="Stage qa names cora as a participant") as refused:
        await opened(desk, seats=SEATS, settings={"stages": encode_session_stages(listed)})
    assert refused.value.help == "Choose one of these seats: ada, bob."


async def test_the_round_limit_allows_every_round_of_every_stage_unless_a_person_set_it(
    desk: Roundtable,
) -> None:
    spec = encode_session_stages(StageOptions().apply_to(desk.meetings.find_stages("spec")))
    few = await opened(desk, seats=SEATS, settings={"stages": spec})
    assert few.limits.rounds >= 5 * (3 + 3), "two discussions of three rounds, each sent back four times"
    assert (await opened(desk, seats=SEATS)).limits.rounds > few.limits.rounds
    assert (await opened(desk, seats=SEATS, limits=Limits(rounds=20))).limits.rounds == 20


async def test_answer_lengths_respect_the_smallest_context_window_and_the_persons_limit(
    desk: Roundtable,
) -> None:
    small = Seat("eve", ("embedded:qwen2.5-coder-1.5b",))
    fitting = Stage.list_of(await opened(desk, seats=(*SEATS, small)))
    assert {stage.name: stage.tokens for stage in fitting} == {
        name: min(values[3], 8192 // 3) for name, values in SEVEN.items()
    }
    limited = Stage.list_of(await opened(desk, seats=SEATS, limits=Limits(max_tokens=700)))
    assert {stage.tokens for stage in limited} == {700}
    usual = Stage.list_of(await opened(desk, seats=SEATS))
    assert [stage.tokens for stage in usual] == [tokens for _, _, _, tokens in SEVEN.values()]
