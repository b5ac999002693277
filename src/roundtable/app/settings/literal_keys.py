"""A config file names keys and never holds one: what looks like a key is refused, with the command that stores it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import parse_qsl

from roundtable.core.faults import ConfigError
from roundtable.core.text.redaction import Redactor, random_looking, telling

_REFERENCE = re.compile(r"(?:env:|secret:).+|\$\{\w+\}|none")
_MEANT_AS_ONE = ("env:", "secret:", "$")
_LOGIN = re.compile(r"//([^/?#]+)@")
_HARMLESS = re.compile(r"organi[sz]ation|project|version|agent|\bid$", re.IGNORECASE)
"""Headers whose values look random and open nothing."""


def written_keys(values: dict[str, Any], file: str) -> Iterator[ConfigError]:
    """A refusal for every setting that holds a key; it never repeats it."""
    redactor = Redactor()
    for place, text in _texts(values, ()):
        if place[0] == "endpoints" and place[2:] == ("key",):
            if _REFERENCE.fullmatch(text):
                continue
            if text.startswith(_MEANT_AS_ONE):
                yield ConfigError(f"{file}: {'.'.join(place)} names no key.", "Write env:NAME, ${NAME} or secret:NAME.")
            else:
                yield _refusal(file, place, "a key is named, never written down")
        elif redactor.finds(text) or redactor.finds(f"{place[-1]}: {text}") or _opens_an_endpoint(place, text):
            yield _refusal(file, place, "this looks like a key, and a key is never written down")


def _opens_an_endpoint(place: tuple[str, ...], text: str) -> bool:
    """Whether an address has a password or a key in it, or a header something random."""
    if place[0] != "endpoints":
        return False
    if place[2:] == ("base_url",):
        asked = parse_qsl(text.partition("?")[2])
        words = _LOGIN.findall(text) + [value for name, value in asked if name == "key" or telling(name)]
        return any("${" not in word for word in words)
    return place[2:3] == ("headers",) and random_looking(text) and not _HARMLESS.search(place[-1])


def _texts(node: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text in the file with the settings that lead to it; the names of settings are texts too."""
    if isinstance(node, str):
        yield place, node
    elif isinstance(node, dict):
        for name, value in cast("dict[str, Any]", node).items():
            yield (*place, "name"), name
            yield from _texts(value, (*place, name))
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _texts(item, place)


def _refusal(file: str, place: tuple[str, ...], why: str) -> ConfigError:
    where = Redactor().redact(".".join(place))
    if place[0] != "endpoints" or len(place) < 3:
        return ConfigError(
            f"{file}: {where}: {why}.",
            "Take it out; `roundtable keys set NAME` stores a key, and an endpoint names it.",
        )
    name = re.sub(r"\W", "_", place[1]).upper() + "_KEY"
    instead = f'key = "secret:{name}"' if place[2:] == ("key",) else f"${{{name}}} in its place"
    return ConfigError(f"{file}: {where}: {why}.", f"Run `roundtable keys set {name}`, then write {instead}.")
