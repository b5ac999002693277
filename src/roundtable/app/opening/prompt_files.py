"""The words a meeting is held in: the workspace's over the person's over the shipped ones, and none with a hole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

import msgspec

from roundtable.app.settings.template_files import text_of
from roundtable.core.faults import ConfigError, RoundtableError
from roundtable.meetings import Protocol
from roundtable.meetings.recipe_file import BALLOT, PLACEHOLDERS

ALWAYS = frozenset({"seat", "label"})
"""Placeholders that every prompt may use and none must."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


class Holes(msgspec.Struct, frozen=True):
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


Own = Sequence[Mapping[str, Path]]
"""The files that lie in each place, the nearest place first."""


def prompts(rules: Protocol, words: Mapping[str, str], own: Own, language: str) -> dict[str, bytes]:
    """Every prompt of a meeting, from the first of these places that has it; `words` are those of a data file."""
    return {name: _prompt(rules, words, own, _files(name, language)).encode() for name in rules.templates}


def check_words(rules: Protocol, words: Mapping[str, str], where: str) -> None:
    """Check the prompts that a data file brings itself."""
    for name, text in words.items():
        if text:
            _holes(rules, words, name).check(text, f"{where}: the prompt of {name}")


def _prompt(rules: Protocol, words: Mapping[str, str], own: Own, files: Sequence[str]) -> str:
    """In each place the language's own words come first."""
    name = files[-1]
    path = next((place[file] for place in own for file in files if file in place), None)
    if path is None:
        return words.get(name) or _shipped(rules, words, files)
    text = text_of(path)
    _holes(rules, words, name).check(text, str(path))
    return text


def _shipped(rules: Protocol, words: Mapping[str, str], files: Sequence[str]) -> str:
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


def _holes(rules: Protocol, words: Mapping[str, str], name: str) -> Holes:
    """A shipped prompt shows what its round fills in; in a data file's meeting, only a ballot needs something."""
    if words:
        ballots = [it.template for it in rules.plan(None, ()) if it.codec == BALLOT]
        return Holes(frozenset({"candidates"} if name in ballots else ()), PLACEHOLDERS)
    used = frozenset(Template(_shipped(rules, words, [name])).get_identifiers())
    return Holes(used - ALWAYS, used | ALWAYS)


def _dollars(names: frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
