"""Meetings by name, and the words they are held in: shipped ones, presets, and what a person or a workspace adds.

The words a meeting is held in: the workspace's over the person's over the shipped ones, and none with a hole.
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
    build_prompt_template_pattern,
    find_user_templates,
    find_workspace_templates,
    list_meeting_template_names,
    load_preset_templates,
    read_template,
    unknown_meeting_template_error,
)
from roundtable.core.decide.named_rules import DECISION_RULE_NAMES
from roundtable.core.faults import ConfigError, NotTrusted, RoundtableError
from roundtable.core.text.strict_toml import convert_toml_table, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text
from roundtable.core.values import Charter, Seat
from roundtable.engine.run import MeetingRules
from roundtable.meetings import MEETINGS, Meeting, find_meeting
from roundtable.meetings.recipe import BALLOT, PROMPT_PLACEHOLDERS, Recipe, define_meeting_from_recipe

OPTIONAL_PLACEHOLDERS = frozenset({"seat", "label"})
"""Placeholders that every prompt may use and none must."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


class PromptPlaceholders(msgspec.Struct, frozen=True):
    """What a prompt must leave to be filled in, and what it may."""

    needed: frozenset[str]
    known: frozenset[str]

    def check(self, text: str, where: str) -> None:
        """Refuse a prompt that would be read out with a hole in it, or without what the round is about."""
        template = Template(text)
        if not template.is_valid():
            raise ConfigError(f"{where} has a lone $.", "Write $$ where a dollar sign is meant.")
        used = set(template.get_identifiers())
        if unknown := sorted(used - self.known):
            raise ConfigError(
                f"{where} names ${unknown[0]}, which nothing fills in.", f"Known: {_dollars(self.known)}."
            )
        if lacking := self.needed - used:
            raise ConfigError(f"{where} lacks {_dollars(lacking)}, which the round needs.", "Put it where it belongs.")


PromptFolders = Sequence[Mapping[str, Path]]
"""The files that lie in each place, the nearest place first."""


def snapshot_charter_prompts(
    rules: Meeting, words: Mapping[str, str], own: PromptFolders, language: str
) -> dict[str, bytes]:
    """Every prompt of a meeting, from the first of these places that has it; `words` are those of a data file."""
    return {name: _prompt(rules, words, own, _files(name, language)).encode() for name in rules.templates}


def _check_recipe_prompts(rules: Meeting, words: Mapping[str, str], where: str) -> None:
    """Check the prompts that a data file brings itself."""
    for name, text in words.items():
        if text:
            _holes(rules, words, name).check(text, f"{where}: the prompt of {name}")


def _prompt(rules: Meeting, words: Mapping[str, str], own: PromptFolders, files: Sequence[str]) -> str:
    """In each place the language's own words come first."""
    name = files[-1]
    path = next((place[file] for place in own for file in files if file in place), None)
    if path is None:
        return words.get(name) or _shipped(rules, words, files)
    text = read_template(path)
    _holes(rules, words, name).check(text, str(path))
    return text


def _shipped(rules: Meeting, words: Mapping[str, str], files: Sequence[str]) -> str:
    """The shipped words. The seats of a data file's meeting are told who they are in words of ours."""
    if words and files[-1] != "system":
        place = f"prompts/{rules.name}/{files[-1]}.md"
        raise ConfigError(f"The meeting {rules.name} has no prompt for {files[-1]}.", f"Write it there, or in {place}.")
    folder = resources.files("roundtable.meetings") / "prompts" / ("recipe" if words else rules.name)
    shipped = next((found for file in files if (found := folder / f"{file}.md").is_file()), None)
    if shipped is None:
        lacks = f"This installation lacks the prompt {files[-1]} of the meeting {rules.name}."
        raise RoundtableError(lacks, "Install Roundtable again.")
    return shipped.read_text()


def _files(name: str, language: str) -> list[str]:
    """`speak.zh-CN`, `speak.zh`, `speak`."""
    if not _LANGUAGE.fullmatch(language):
        return [name]
    return list(dict.fromkeys((f"{name}.{language}", f"{name}.{language.partition('-')[0]}", name)))


def _holes(rules: Meeting, words: Mapping[str, str], name: str) -> PromptPlaceholders:
    """A shipped prompt shows what its round fills in; in a data file's meeting, only a ballot needs something."""
    if words:
        ballots = [round.template for round in rules.plan_rounds(None, ()) if round.codec == BALLOT]
        return PromptPlaceholders(frozenset({"candidates"} if name in ballots else ()), PROMPT_PLACEHOLDERS)
    used = frozenset(Template(_shipped(rules, words, [name])).get_identifiers())
    return PromptPlaceholders(used - OPTIONAL_PLACEHOLDERS, used | OPTIONAL_PLACEHOLDERS)


def _dollars(names: frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


MeetingSource = Literal["shipped", "preset", "yours", "workspace"]

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")


class MeetingPreset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A meeting under another name: what it is set to, its limits, and who sits there if nobody else was named."""

    summary: str
    meeting: str
    settings: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    seats: dict[str, dict[str, Any]] = {}


class CatalogMeeting(msgspec.Struct, frozen=True):
    """What a meeting's name comes to. `words` are the prompts that a data file brings itself."""

    name: str
    summary: str
    source: MeetingSource
    rules: Meeting
    settings: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    seats: tuple[Seat, ...] = ()
    words: dict[str, str] = {}


class MeetingCatalog:
    """The meetings one can ask for here. What a workspace brings is there once the person trusts it."""

    def __init__(self, places: Places, workspace: Path, is_trusted: Callable[[], bool]) -> None:
        self._places = places
        self._workspace = workspace
        self._is_trusted = is_trusted

    def listed(self) -> list[CatalogMeeting]:
        """All of them, by name."""
        known = list_meeting_template_names(self._places, self._workspace)
        there = {*MEETINGS, *load_preset_templates(), *self._own()}
        return [self.find(name) for name in known if name in there]

    def find(self, name: str) -> CatalogMeeting:
        """A meeting, a preset or a data file by its name."""
        own = self._own()
        if name in own:
            source, path = own[name]
            if name in MEETINGS or name in load_preset_templates():
                raise ConfigError(f"{path}: {name} is the name of a shipped meeting.", "Give the file another name.")
            return _read(name, read_template(path), str(path), source)
        if name in MEETINGS:
            return CatalogMeeting(name, MEETINGS[name].summary, "shipped", MEETINGS[name])
        if name in load_preset_templates():
            return _read(name, load_preset_templates()[name], f"preset {name}", "preset")
        if name in find_workspace_templates(self._workspace, MEETING_FILES):
            raise NotTrusted(
                f"This workspace brings the meeting {name}, and you have not trusted it.",
                f"Read .roundtable/meetings/{name}.toml, then run `roundtable trust`.",
            )
        raise unknown_meeting_template_error(name, list_meeting_template_names(self._places, self._workspace))

    def prompts(self, chosen: CatalogMeeting, language: str) -> dict[str, bytes]:
        """The meeting's prompts as they are now; the session keeps to these, whatever becomes of the files."""
        pattern = build_prompt_template_pattern(chosen.rules.name)
        places = [self._of_workspace(pattern), find_user_templates(self._places, pattern)]
        return snapshot_charter_prompts(chosen.rules, chosen.words, places, language)

    def _own(self) -> dict[str, tuple[MeetingSource, Path]]:
        """Data files by name, the workspace's over the person's."""
        own: dict[str, tuple[MeetingSource, Path]] = {}
        own |= {name: ("yours", path) for name, path in find_user_templates(self._places, MEETING_FILES).items()}
        own |= {name: ("workspace", path) for name, path in self._of_workspace(MEETING_FILES).items()}
        return own

    def _of_workspace(self, pattern: str) -> dict[str, Path]:
        return find_workspace_templates(self._workspace, pattern) if self._is_trusted() else {}


def find_charter_meeting(charter: Charter) -> Meeting:
    """The rules a session was opened under; those of a data file travel with it."""
    if "recipe" in charter.settings:
        text = str(charter.settings["recipe"])
        return _read(charter.meeting, text, f"meeting {charter.meeting}", "yours").rules
    return find_meeting(charter.meeting)


def find_charter_rules(charter: Charter) -> MeetingRules:
    """The meeting a session was opened as."""
    rules = find_charter_meeting(charter)
    return MeetingRules(rules.name, rules.version, rules.hold)


def _read(name: str, text: str, where: str, source: MeetingSource) -> CatalogMeeting:
    """A preset, which names a meeting, or a meeting of its own, which has rounds."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: {name} is no name for a meeting.", "Use small letters, digits and dashes.")
    data = parse_toml_text(text.encode(), where)
    if "meeting" in data:
        preset = convert_toml_table(MeetingPreset, data, where)
        if preset.meeting not in MEETINGS:
            raise ConfigError(f"{where}: there is no meeting {preset.meeting}.", f"There are {', '.join(MEETINGS)}.")
        seats = tuple(
            convert_toml_table(Seat, {"name": seat, **seat_data}, f"{where}: seats.{seat}")
            for seat, seat_data in preset.seats.items()
        )
        rules = MEETINGS[preset.meeting]
        return CatalogMeeting(name, preset.summary, source, rules, preset.settings, preset.limits, seats)
    recipe = _recipe(data, where)
    words = {"system": recipe.system, **{round.purpose: round.prompt for round in recipe.rounds}}
    chosen = CatalogMeeting(
        name,
        recipe.summary,
        source,
        define_meeting_from_recipe(name, recipe),
        {"recipe": text},
        recipe.limits,
        (),
        words,
    )
    _check_recipe_prompts(chosen.rules, words, where)
    return chosen


def _recipe(data: dict[str, Any], where: str) -> Recipe:
    named = convert_toml_table(dict[str, Any], data.get("rule", {}), f"{where}: rule").get("name", "")
    if named not in DECISION_RULE_NAMES:
        near = did_you_mean_text(str(named), DECISION_RULE_NAMES).strip()
        raise ConfigError(
            f"{where}: rule.name cannot be {named!r}.", f"{near} Rules: {', '.join(DECISION_RULE_NAMES)}.".strip()
        )
    recipe = convert_toml_table(Recipe, data, where)
    if wrong := recipe.find_mistake():
        raise ConfigError(f"{where}: {wrong}", "Correct it and try again.")
    return recipe
