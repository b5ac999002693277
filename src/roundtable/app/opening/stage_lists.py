"""The stages of a long meeting as a person wants them: a shipped way through them or a list of their own, and options.

A list is a TOML file with a `[[stages]]` for each. One that has the name of a shipped stage takes from it what it
leaves out, so that often its name and what is different are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from roundtable.app.settings.places import Places
from roundtable.app.settings.template_files import (
    STAGE_FILES,
    find_user_templates,
    find_workspace_templates,
    read_template,
)
from roundtable.core.faults import ConfigError, NotFound, NotTrusted, UsageError
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import STAGE_NAME, Stage, decode_stages, encode_stages
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.strict_toml import convert_toml_table, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text
from roundtable.core.values import Limits, NextStep, Seat
from roundtable.meetings.sdlc import MAX_STAGE_ATTEMPTS
from roundtable.meetings.stages.delivery import DELIVER

DEFAULT_STAGE_LIST = "sdlc"
ALL_STAGES = ""
"""The name under which an option is given that holds for all stages."""

ROUNDS_PER_STAGE_ROUND = {"discussion": 1, "files": 3, "review": 40, "run": 4}
"""How many rounds may come of one round of a stage: what is mended and refined, each part of a review, each rerun."""


class ShippedStages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stages we ship, and the ways through them."""

    ways: dict[str, tuple[str, ...]]
    stages: tuple[Stage, ...]


class StageListFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of somebody's own."""

    stages: list[dict[str, Any]]


class StageOptions(msgspec.Struct, frozen=True):
    """What a person says of the stages; options are by the name of a stage, or under `ALL_STAGES`."""

    all_stages: ClassVar[str] = ALL_STAGES
    way: str = DEFAULT_STAGE_LIST
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    instructions: dict[str, str] = {}
    rounds: dict[str, int] = {}
    judge: dict[str, str] = {}
    speaking: str = ""

    @staticmethod
    def resolve_way(way: str) -> str:
        """A way as it can be found from any folder: a path is made absolute, a name stays."""
        return str(Path(way).expanduser().absolute()) if _is_stage_list_path(way) else way


class StageListCatalog:
    """The lists one can ask for by name here. What a workspace brings is there once the person trusts it."""

    def __init__(self, places: Places, workspace: Path, is_trusted: Callable[[], bool]) -> None:
        self._places = places
        self._workspace = workspace
        self._is_trusted = is_trusted

    def find(self, name: str) -> tuple[Stage, ...]:
        """A shipped way, a list of the person's or of the workspace by its name, or the path of a file."""
        ways = load_shipped_stages().ways
        if name in ways:
            return tuple(stage for stage in load_shipped_stages().stages if stage.name in ways[name])
        brought = find_workspace_templates(self._workspace, STAGE_FILES)
        if name in brought and not self._is_trusted():
            raise NotTrusted(
                f"This workspace brings the stages {name}, and you have not trusted it.",
                f"Read .roundtable/stages/{name}.toml, then run `roundtable trust`.",
            )
        own = find_user_templates(self._places, STAGE_FILES) | brought
        path = Path(name).expanduser() if _is_stage_list_path(name) else own.get(name)
        if path is None or not path.is_file():
            lacking = (
                f"file {sanitize_line(name, 200)}"
                if _is_stage_list_path(name)
                else f"list of stages {sanitize_line(name, 60)}"
            )
            known = ", ".join((*ways, *own))
            raise NotFound(f"There is no {lacking}.", f"Choose one of {known}, or give a TOML file with [[stages]].")
        return parse_stage_list(read_template(path), str(path))


def _is_stage_list_path(name: str) -> bool:
    """Whether somebody means a file: what merely lies in a folder must not stand in for a list of that name."""
    return "/" in name or name.endswith(".toml")


@cache
def load_shipped_stages() -> ShippedStages:
    """The stages that come with Roundtable."""
    path = resources.files("roundtable.meetings") / "stages" / "sdlc.toml"
    return convert_toml_table(ShippedStages, parse_toml_text(path.read_bytes(), "sdlc.toml"), "sdlc.toml")


def parse_stage_list(text: str, where: str) -> tuple[Stage, ...]:
    """The stages of somebody's own file."""
    known: dict[str, dict[str, Any]] = {
        stage.name: msgspec.to_builtins(stage) for stage in load_shipped_stages().stages
    }
    listed = convert_toml_table(StageListFile, parse_toml_text(text.encode(), where), where).stages
    if not listed:
        raise ConfigError(f"{where}: there is no stage in it.", "Add a [[stages]] for each that is to be held.")
    for number, stage_data in enumerate(listed, 1):
        if isinstance(name := stage_data.get("name"), str) and not STAGE_NAME.match(name):
            raise ConfigError(
                f"{where}: stage {number} cannot be called {sanitize_line(name, 60) or 'nothing'}.",
                "A name has small letters and dashes, at most 31 of them, such as threat-model.",
            )
    stages = [
        convert_toml_table(
            Stage, {**known.get(str(stage_data.get("name")), {}), **stage_data}, f"{where}: stage {number}"
        )
        for number, stage_data in enumerate(listed, 1)
    ]
    names = [stage.name for stage in stages]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError(f"{where}: there are two stages called {twice}.", "Give each a name of its own.")
    if taken := next((name for name in names if name == DELIVER or StageAddress(name).is_reserved), ""):
        raise ConfigError(
            f"{where}: a stage cannot be called {taken}, since that is what its questions to you are called.",
            f"Do not begin with `after`, nor end in -dispute, -install or -rerun, and leave `{DELIVER}` alone.",
        )
    return tuple(stages)


def apply_stage_options(stages: Sequence[Stage], wanted: StageOptions) -> tuple[Stage, ...]:
    """The same stages with what the person said over them; those that are left out stay in the list, disabled."""
    names = [stage.name for stage in stages]
    _check_names(names, (*wanted.only, *wanted.skip, *wanted.instructions, *wanted.rounds, *wanted.judge))
    told: list[Stage] = []
    for stage in stages:
        on = (stage.name in wanted.only if wanted.only else stage.enabled) and stage.name not in wanted.skip
        changes: dict[str, Any] = {
            "enabled": on,
            "instructions": wanted.instructions.get(stage.name, stage.instructions),
            "rounds": wanted.rounds.get(stage.name, wanted.rounds.get(ALL_STAGES, stage.rounds)),
            "judge": wanted.judge.get(stage.name, wanted.judge.get(ALL_STAGES, stage.judge)),
            "speaking": wanted.speaking or stage.speaking,
        }
        told.append(convert_toml_table(Stage, {**msgspec.to_builtins(stage), **changes}, f"stage {stage.name}"))
    if not any(stage.enabled for stage in told):
        raise UsageError("No stage is left to be held.", f"There are {', '.join(names)}; leave some of them in.")
    return tuple(told)


def _check_names(known: Sequence[str], named: Iterable[str]) -> None:
    for name in named:
        if name != ALL_STAGES and name not in known:
            near = did_you_mean_text(name, known).strip()
            help = f"{near} Stages: {', '.join(known)}.".strip()
            raise UsageError(f"There is no stage {sanitize_line(name, 60)} here.", help)


def fill_charter_stage_settings(
    settings: dict[str, Any], seats: Sequence[Seat], longest: int, answers: Mapping[str, str]
) -> dict[str, Any]:
    """What the meeting is told, with the usual stages where none were chosen; whom they name must sit here.

    What is answered ahead must be asked at all. No seat's answer may be longer than `longest`, which is what their
    windows and the person's limits leave for one.
    """
    stages = (
        decode_stages(settings["stages"]) if settings.get("stages") else apply_stage_options(_usual(), StageOptions())
    )
    names = [seat.name for seat in seats]
    for stage in stages:
        named = {seat: "take part in" for seat in stage.seats} | ({stage.judge: "judge"} if stage.judge else {})
        for seat, what in named.items():
            if seat not in names:
                raise UsageError(
                    f"{sanitize_line(seat, 60)} is to {what} {stage.name} and is not at the table.",
                    f"Name one of: {', '.join(names)}.",
                )
    if answers.get(DELIVER, NextStep.LATER) != NextStep.LATER:
        _check_delivery(stages, existing=bool(settings.get("existing")))
    fitting = [msgspec.structs.replace(stage, tokens=min(stage.tokens, longest)) for stage in stages]
    return {**settings, "stages": encode_stages(fitting)}


def _check_delivery(stages: Sequence[Stage], *, existing: bool) -> None:
    """Only a new project is handed over, and only stages that write files come to one."""
    if existing:
        raise UsageError(
            f"A project that is there is changed where it is, so {DELIVER} is not asked.",
            "Answer `approve` ahead instead, or nothing: --answer approve=all.",
        )
    if not any(stage.enabled and stage.kind in ("files", "run") for stage in stages):
        raise UsageError(
            f"These stages come to words alone, so there is no project to hand over and {DELIVER} is not asked.",
            "Leave it out: `roundtable export` writes what was agreed as a report.",
        )


def _usual() -> tuple[Stage, ...]:
    return tuple(
        stage for stage in load_shipped_stages().stages if stage.name in load_shipped_stages().ways[DEFAULT_STAGE_LIST]
    )


def raise_charter_round_limit(limits: Limits, settings: dict[str, Any]) -> Limits:
    """Limits under which these stages can be held, each as often as it may be; a limit that somebody set stays."""
    if limits.rounds != Limits().rounds:
        return limits
    rounds = sum(
        stage.rounds * ROUNDS_PER_STAGE_ROUND[stage.kind] * MAX_STAGE_ATTEMPTS
        for stage in decode_stages(settings["stages"])
        if stage.enabled
    )
    return msgspec.structs.replace(limits, rounds=max(limits.rounds, rounds))
