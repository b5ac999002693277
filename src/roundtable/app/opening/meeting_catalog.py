"""The meetings that are available by name, and their prompts: shipped ones, and those of a person or a workspace.

Files of the workspace take precedence over files of the person, and those over the shipped ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Literal

import msgspec

from roundtable.app.settings.places import Places
from roundtable.app.settings.template_files import (
    MEETING_FILES,
    TemplateFile,
    find_template_files_in_user_config,
    find_template_files_in_workspace_config,
    list_configured_meeting_names,
    load_preset_config_texts,
    prompt_file_glob_in_config,
    unknown_configured_meeting_error,
)
from roundtable.core.decide.named_rules import DECISION_RULE_NAMES
from roundtable.core.faults import ConfigError, NotTrusted, RoundtableError
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text
from roundtable.core.values import Charter, Seat
from roundtable.engine.run import MeetingRules
from roundtable.meetings import MEETINGS, Meeting, find_meeting
from roundtable.meetings.recipe import BALLOT, PROMPT_PLACEHOLDERS, Recipe, define_meeting_from_recipe

OPTIONAL_PLACEHOLDERS = frozenset({"seat", "label"})
"""Placeholders that every prompt may use and none must."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_MEETING_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")

# --- prompts --------------------------------------------------------------------------------------


class PromptPlaceholders(msgspec.Struct, frozen=True):
    """The placeholders that a prompt must contain, and those that it may contain."""

    needed: frozenset[str]
    known: frozenset[str]

    def check(self, text: str, where: str) -> None:
        """Raise ConfigError for a prompt with unknown, missing or incomplete placeholders."""
        template = Template(text)
        if not template.is_valid():
            raise ConfigError(f"{where} contains a `$` without a placeholder name.", "Write `$$` for a dollar sign.")
        used = set(template.get_identifiers())
        if unknown := sorted(used - self.known):
            raise ConfigError(
                f"{where} contains the unknown placeholder ${unknown[0]}.",
                f"Known placeholders: {_list_placeholders(self.known)}.",
            )
        if missing := self.needed - used:
            raise ConfigError(
                f"{where} lacks {_list_placeholders(missing)}, which this round requires.",
                "Add every missing placeholder.",
            )


PromptFolders = Sequence[Mapping[str, TemplateFile]]
"""Prompt files by name, one mapping per folder; the folder that takes precedence comes first."""


def snapshot_charter_prompts(
    rules: Meeting, words: Mapping[str, str], folders: PromptFolders, language: str
) -> dict[str, bytes]:
    """Return every prompt of a meeting, each from the first folder that has it, else from `words` or as shipped.

    `words` are the prompts in the data file of a meeting.
    """
    return {
        name: _load_prompt(rules, words, folders, _list_language_names(name, language)).encode()
        for name in rules.templates
    }


def _check_recipe_prompts(rules: Meeting, words: Mapping[str, str], where: str) -> None:
    for name, text in words.items():
        if text:
            _find_placeholders(rules, words, name).check(text, f"{where}: the prompt of {name}")


def _load_prompt(rules: Meeting, words: Mapping[str, str], folders: PromptFolders, names: Sequence[str]) -> str:
    """Return a prompt. Within a folder, the file of the language takes precedence over the general one."""
    general = names[-1]
    file = next((folder[name] for folder in folders for name in names if name in folder), None)
    if file is None:
        return words.get(general) or _load_shipped_prompt(rules, words, names)
    text = file.read_text()
    _find_placeholders(rules, words, general).check(text, str(file.path))
    return text


def _load_shipped_prompt(rules: Meeting, words: Mapping[str, str], names: Sequence[str]) -> str:
    """Return a shipped prompt; for the meeting of a data file, only the system prompt is shipped."""
    if words and names[-1] != "system":
        place = f"prompts/{rules.name}/{names[-1]}.md"
        raise ConfigError(
            f"The meeting {rules.name} has no prompt for {names[-1]}.",
            f"Add the prompt to the data file of the meeting, or create {place}.",
        )
    folder = resources.files("roundtable.meetings") / "prompts" / ("recipe" if words else rules.name)
    shipped = next((file for name in names if (file := folder / f"{name}.md").is_file()), None)
    if shipped is None:
        problem = f"The prompt {names[-1]} of the meeting {rules.name} is missing from this installation."
        raise RoundtableError(problem, "Install Roundtable again.")
    return shipped.read_text()


def _list_language_names(name: str, language: str) -> list[str]:
    """Return the names of a prompt from the special to the general, such as `speak.zh-CN`, `speak.zh`, `speak`."""
    if not _LANGUAGE.fullmatch(language):
        return [name]
    return list(dict.fromkeys((f"{name}.{language}", f"{name}.{language.partition('-')[0]}", name)))


def _find_placeholders(rules: Meeting, words: Mapping[str, str], name: str) -> PromptPlaceholders:
    """Return the placeholders of a prompt: those of the shipped one; in a data file, only a ballot needs any."""
    if words:
        ballots = [round.template for round in rules.plan_rounds(None, ()) if round.codec == BALLOT]
        return PromptPlaceholders(frozenset({"candidates"} if name in ballots else ()), PROMPT_PLACEHOLDERS)
    used = frozenset(Template(_load_shipped_prompt(rules, words, [name])).get_identifiers())
    return PromptPlaceholders(used - OPTIONAL_PLACEHOLDERS, used | OPTIONAL_PLACEHOLDERS)


def _list_placeholders(names: frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


# --- meetings -------------------------------------------------------------------------------------

MeetingSource = Literal["shipped", "preset", "yours", "workspace"]


class MeetingPreset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data file that gives a meeting another name, settings, limits and default seats."""

    summary: str
    meeting: str
    settings: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    seats: dict[str, dict[str, Any]] = {}


class CatalogMeeting(msgspec.Struct, frozen=True):
    """An available meeting. `words` are the prompts in its data file."""

    name: str
    summary: str
    source: MeetingSource
    rules: Meeting
    settings: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    seats: tuple[Seat, ...] = ()
    words: dict[str, str] = {}


class MeetingCatalog:
    """The meetings that are available in a workspace; its own meetings are available once it is trusted."""

    def __init__(self, places: Places, workspace: Path, is_trusted: Callable[[], bool]) -> None:
        self._places = places
        self._workspace = workspace
        self._is_trusted = is_trusted

    def list_all(self) -> list[CatalogMeeting]:
        """Return every available meeting, in the order of lists."""
        available = {*MEETINGS, *load_preset_config_texts(), *self._list_data_files()}
        names = list_configured_meeting_names(self._places, self._workspace)
        return [self.find(name) for name in names if name in available]

    def find(self, name: str) -> CatalogMeeting:
        """Return a meeting, a preset or the meeting of a data file by its name."""
        data_files = self._list_data_files()
        if name in data_files:
            source, file = data_files[name]
            if name in MEETINGS or name in load_preset_config_texts():
                raise ConfigError(
                    f"{file.path}: {name} is already the name of a built-in meeting.", "Give the file another name."
                )
            return _parse_data_file(name, file.read_text(), str(file.path), source)
        if name in MEETINGS:
            return CatalogMeeting(name, MEETINGS[name].summary, "shipped", MEETINGS[name])
        if name in load_preset_config_texts():
            return _parse_data_file(name, load_preset_config_texts()[name], f"preset {name}", "preset")
        if name in find_template_files_in_workspace_config(self._workspace, MEETING_FILES):
            raise NotTrusted(
                f"The meeting {name} is defined in this workspace, which you have not trusted yet.",
                f"Read .roundtable/meetings/{name}.toml, then run `roundtable trust`.",
            )
        raise unknown_configured_meeting_error(name, list_configured_meeting_names(self._places, self._workspace))

    def load_prompts(self, meeting: CatalogMeeting, language: str) -> dict[str, bytes]:
        """Return the current prompts of a meeting; an open session keeps them even if the files change."""
        pattern = prompt_file_glob_in_config(meeting.rules.name)
        folders = [self._find_trusted_templates(pattern), find_template_files_in_user_config(self._places, pattern)]
        return snapshot_charter_prompts(meeting.rules, meeting.words, folders, language)

    @staticmethod
    def find_charter_meeting(charter: Charter) -> Meeting:
        """Return the meeting that a session was opened as; a meeting from a data file is stored in its charter."""
        if "recipe" in charter.settings:
            text = str(charter.settings["recipe"])
            return _parse_data_file(charter.meeting, text, f"meeting {charter.meeting}", "yours").rules
        return find_meeting(charter.meeting)

    @staticmethod
    def find_charter_rules(charter: Charter) -> MeetingRules:
        """Return the rules that a session was opened under, for the engine."""
        rules = MeetingCatalog.find_charter_meeting(charter)
        return MeetingRules(rules.name, rules.version, rules.hold)

    def _list_data_files(self) -> dict[str, tuple[MeetingSource, TemplateFile]]:
        """Return the data files by name; those of the workspace take precedence over those of the person."""
        files: dict[str, tuple[MeetingSource, TemplateFile]] = {}
        files |= {
            name: ("yours", file)
            for name, file in find_template_files_in_user_config(self._places, MEETING_FILES).items()
        }
        files |= {name: ("workspace", file) for name, file in self._find_trusted_templates(MEETING_FILES).items()}
        return files

    def _find_trusted_templates(self, pattern: str) -> dict[str, TemplateFile]:
        return find_template_files_in_workspace_config(self._workspace, pattern) if self._is_trusted() else {}


def _parse_data_file(name: str, text: str, where: str, source: MeetingSource) -> CatalogMeeting:
    """Parse a data file: a preset, which names a meeting, or a recipe, which has rounds."""
    if not _MEETING_NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: {name} is not a valid name for a meeting.", "Use lowercase letters, digits and hyphens."
        )
    data = parse_toml_text(text.encode(), where)
    if "meeting" in data:
        preset = convert_toml_table_to_struct(MeetingPreset, data, where)
        if preset.meeting not in MEETINGS:
            raise ConfigError(f"{where}: there is no meeting {preset.meeting}.", f"Meetings: {', '.join(MEETINGS)}.")
        seats = tuple(
            convert_toml_table_to_struct(Seat, {"name": seat, **seat_data}, f"{where}: seats.{seat}")
            for seat, seat_data in preset.seats.items()
        )
        rules = MEETINGS[preset.meeting]
        return CatalogMeeting(name, preset.summary, source, rules, preset.settings, preset.limits, seats)
    recipe = _parse_recipe(data, where)
    words = {"system": recipe.system, **{round.purpose: round.prompt for round in recipe.rounds}}
    rules = define_meeting_from_recipe(name, recipe)
    _check_recipe_prompts(rules, words, where)
    return CatalogMeeting(name, recipe.summary, source, rules, {"recipe": text}, recipe.limits, (), words)


def _parse_recipe(data: dict[str, Any], where: str) -> Recipe:
    rule = convert_toml_table_to_struct(dict[str, Any], data.get("rule", {}), f"{where}: rule").get("name", "")
    if rule not in DECISION_RULE_NAMES:
        near = did_you_mean_text(str(rule), DECISION_RULE_NAMES).strip()
        raise ConfigError(
            f"{where}: rule.name is {rule!r}, which is not a decision rule.",
            f"{near} Decision rules: {', '.join(DECISION_RULE_NAMES)}.".strip(),
        )
    recipe = convert_toml_table_to_struct(Recipe, data, where)
    if mistake := recipe.find_mistake():
        raise ConfigError(f"{where}: {mistake}", "Correct the file and try again.")
    return recipe
