"""The stages of a long meeting: the shipped stages, lists in files of a person or workspace, and options.

A list is a TOML file with one `[[stages]]` table per stage. A stage with the name of a shipped one takes all missing
settings from it, so the name and the differences are enough.
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
    TemplateFile,
    find_template_files_in_user_config,
    find_template_files_in_workspace_config,
)
from roundtable.core.faults import ConfigError, NotFound, NotTrusted, UsageError
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import STAGE_NAME, Stage, decode_session_stages, encode_session_stages
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text
from roundtable.core.values import Limits, NextStep, Seat
from roundtable.meetings.sdlc import MAX_STAGE_ATTEMPTS
from roundtable.meetings.stages.delivery import DELIVER

DEFAULT_STAGE_LIST = "sdlc"
ALL_STAGES = ""
"""The key of an option that applies to all stages."""

ROUNDS_PER_STAGE_ROUND = {"discussion": 1, "files": 3, "review": 40, "run": 4}
"""How many rounds one round of a stage may lead to: repairs, refinements, parts of a review and reruns."""


class ShippedStages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shipped stages, and the shipped lists of them by name."""

    ways: dict[str, tuple[str, ...]]
    stages: tuple[Stage, ...]

    @staticmethod
    @cache
    def load() -> ShippedStages:
        """Return the stages that come with Roundtable."""
        path = resources.files("roundtable.meetings") / "stages" / "sdlc.toml"
        return convert_toml_table_to_struct(ShippedStages, parse_toml_text(path.read_bytes(), "sdlc.toml"), "sdlc.toml")

    def select(self, name: str) -> tuple[Stage, ...]:
        """Return the stages of a shipped list."""
        return tuple(stage for stage in self.stages if stage.name in self.ways[name])


class StageListFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a file with a list of stages."""

    stages: list[dict[str, Any]]


class StageOptions(msgspec.Struct, frozen=True):
    """Options for the stages of a meeting; the dictionaries are by stage name, or `ALL_STAGES` for all."""

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
        """Return a list so that it can be found from any folder: a path becomes absolute, a name stays."""
        return str(Path(way).expanduser().absolute()) if _is_stage_list_path(way) else way

    def apply_to(self, stages: Sequence[Stage]) -> tuple[Stage, ...]:
        """Return the stages with these options; excluded stages stay in the list, disabled."""
        names = [stage.name for stage in stages]
        _check_stage_names(names, (*self.only, *self.skip, *self.instructions, *self.rounds, *self.judge))
        changed: list[Stage] = []
        for stage in stages:
            enabled = (stage.name in self.only if self.only else stage.enabled) and stage.name not in self.skip
            options: dict[str, Any] = {
                "enabled": enabled,
                "instructions": self.instructions.get(stage.name, stage.instructions),
                "rounds": self.rounds.get(stage.name, self.rounds.get(ALL_STAGES, stage.rounds)),
                "judge": self.judge.get(stage.name, self.judge.get(ALL_STAGES, stage.judge)),
                "speaking": self.speaking or stage.speaking,
            }
            changed.append(
                convert_toml_table_to_struct(Stage, {**msgspec.to_builtins(stage), **options}, f"stage {stage.name}")
            )
        if not any(stage.enabled for stage in changed):
            raise UsageError("All stages are excluded.", f"Keep at least one of: {', '.join(names)}.")
        return tuple(changed)


class StageListCatalog:
    """The lists of stages that are available in a workspace; its own lists are available once it is trusted."""

    def __init__(self, places: Places, workspace: Path, is_trusted: Callable[[], bool]) -> None:
        self._places = places
        self._workspace = workspace
        self._is_trusted = is_trusted

    def find(self, name: str) -> tuple[Stage, ...]:
        """Return a list: a shipped one, one of the person or the workspace by its name, or the one in a file."""
        shipped = ShippedStages.load()
        if name in shipped.ways:
            return shipped.select(name)
        of_workspace = find_template_files_in_workspace_config(self._workspace, STAGE_FILES)
        if name in of_workspace and not self._is_trusted():
            raise NotTrusted(
                f"The list of stages {name} is defined in this workspace, which you have not trusted yet.",
                f"Read .roundtable/stages/{name}.toml, then run `roundtable trust`.",
            )
        own = find_template_files_in_user_config(self._places, STAGE_FILES) | of_workspace
        file = TemplateFile(Path(name).expanduser()) if _is_stage_list_path(name) else own.get(name)
        if file is None or not file.path.is_file():
            missing = (
                f"file {sanitize_line(name, 200)}"
                if _is_stage_list_path(name)
                else f"list of stages {sanitize_line(name, 60)}"
            )
            known = ", ".join((*shipped.ways, *own))
            raise NotFound(
                f"There is no {missing}.",
                f"Choose one of {known}, or give the path of a TOML file with [[stages]] tables.",
            )
        return self.parse(file.read_text(), str(file.path))

    @staticmethod
    def parse(text: str, path: str) -> tuple[Stage, ...]:
        """Parse the text of a list; the path is named in errors."""
        shipped: dict[str, dict[str, Any]] = {
            stage.name: msgspec.to_builtins(stage) for stage in ShippedStages.load().stages
        }
        tables = convert_toml_table_to_struct(StageListFile, parse_toml_text(text.encode(), path), path).stages
        if not tables:
            raise ConfigError(f"{path}: the list has no stages.", "Add one [[stages]] table for each stage.")
        for number, table in enumerate(tables, 1):
            if isinstance(name := table.get("name"), str) and not STAGE_NAME.match(name):
                raise ConfigError(
                    f"{path}: stage {number} has the invalid name {sanitize_line(name, 60) or '(empty)'}.",
                    "Use at most 31 lowercase letters and hyphens, such as threat-model.",
                )
        stages = [
            convert_toml_table_to_struct(
                Stage, {**shipped.get(str(table.get("name")), {}), **table}, f"{path}: stage {number}"
            )
            for number, table in enumerate(tables, 1)
        ]
        names = [stage.name for stage in stages]
        if duplicate := next((name for name in names if names.count(name) > 1), ""):
            raise ConfigError(f"{path}: two stages have the name {duplicate}.", "Give each stage a different name.")
        if reserved := next((name for name in names if name == DELIVER or StageAddress(name).is_reserved), ""):
            raise ConfigError(
                f"{path}: the stage name {reserved} is reserved for a gate.",
                f"Choose another name. A stage cannot be named `{DELIVER}`, begin with `after`, or end in -dispute, "
                "-install or -rerun.",
            )
        return tuple(stages)


def _is_stage_list_path(name: str) -> bool:
    """Return whether a person gave a path: a file that only lies in the current folder must not replace a list."""
    return "/" in name or name.endswith(".toml")


def _check_stage_names(known: Sequence[str], names: Iterable[str]) -> None:
    for name in names:
        if name != ALL_STAGES and name not in known:
            near = did_you_mean_text(name, known).strip()
            help = f"{near} Stages: {', '.join(known)}.".strip()
            raise UsageError(f"There is no stage {sanitize_line(name, 60)} in this meeting.", help)


def fill_opening_stage_settings(
    settings: dict[str, Any], seats: Sequence[Seat], max_answer_tokens: int, answers: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings of a meeting with its stages, by default those of the default list.

    Raises UsageError if a stage names a seat that is missing, or if an answer in advance is for a gate that is never
    asked. `max_answer_tokens` limits every answer to what the context windows and the person's limits allow.
    """
    stages = (
        decode_session_stages(settings["stages"])
        if settings.get("stages")
        else StageOptions().apply_to(ShippedStages.load().select(DEFAULT_STAGE_LIST))
    )
    names = [seat.name for seat in seats]
    for stage in stages:
        roles = {seat: "participant" for seat in stage.seats} | ({stage.judge: "judge"} if stage.judge else {})
        for seat, role in roles.items():
            if seat not in names:
                raise UsageError(
                    f"Stage {stage.name} names {sanitize_line(seat, 60)} as a {role}, but there is no such seat.",
                    f"Choose one of these seats: {', '.join(names)}.",
                )
    if answers.get(DELIVER, NextStep.LATER) != NextStep.LATER:
        _check_delivery(stages, existing=bool(settings.get("existing")))
    fitting = [msgspec.structs.replace(stage, tokens=min(stage.tokens, max_answer_tokens)) for stage in stages]
    return {**settings, "stages": encode_session_stages(fitting)}


def _check_delivery(stages: Sequence[Stage], *, existing: bool) -> None:
    """Raise UsageError unless the stages make a new project: only that is delivered."""
    if existing:
        raise UsageError(
            f"An existing project is edited in place, so the gate {DELIVER} is never asked.",
            "To approve all changes in advance, use `--answer approve=all` instead.",
        )
    if not any(stage.enabled and stage.kind in ("files", "run") for stage in stages):
        raise UsageError(
            f"None of these stages writes files, so there is no project to deliver and the gate {DELIVER} is never "
            "asked.",
            f"Remove the answer to gate {DELIVER}. `roundtable export` writes a report on the discussion.",
        )


def raise_charter_round_limit_for_stages(limits: Limits, settings: dict[str, Any]) -> Limits:
    """Return limits with enough rounds for all attempts at these stages; a limit that the person set is kept."""
    if limits.rounds != Limits().rounds:
        return limits
    rounds = sum(
        stage.rounds * ROUNDS_PER_STAGE_ROUND[stage.kind] * MAX_STAGE_ATTEMPTS
        for stage in decode_session_stages(settings["stages"])
        if stage.enabled
    )
    return msgspec.structs.replace(limits, rounds=max(limits.rounds, rounds))
