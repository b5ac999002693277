"""The settings in force, their sources, and changes to one of them."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.app.settings.toml_text import (
    format_setting_path,
    format_setting_value_as_toml,
    parse_setting_path,
    set_nested_setting,
    set_setting_in_config_text,
)
from roundtable.app.settings.write_config import write_config_file
from roundtable.core.faults import ConfigError, NotFound
from roundtable.core.text.strict_toml import parse_toml_with_depth_limit
from roundtable.core.text.wording import did_you_mean_text
from roundtable.meetings import MEETINGS

SettingSource = Literal["default", "you", "workspace", "withheld"]


class Setting(msgspec.Struct, frozen=True):
    """One setting with its value and source. A withheld setting waits for `roundtable trust`."""

    key: str
    value: Any
    source: SettingSource

    @property
    def text(self) -> str:
        """The value as TOML; empty where there is none."""
        return "" if self.value is None else format_setting_value_as_toml(self.value)


def list_settings(places: Places, workspace: Path) -> list[Setting]:
    """Return every setting that has a value, in the order of a config file."""
    config.load_settings(places, workspace)
    read = config.read_config_layers(places, workspace)
    layers: list[tuple[SettingSource, dict[str, Any]]] = [
        ("default", _default_values()),
        ("you", read.person),
        ("workspace", read.workspace),
    ]
    by_name: dict[str, Setting] = {}
    for source, values in layers:
        for path, value in _walk_leaves(values, ()):
            by_name[format_setting_path(path)] = Setting(format_setting_path(path), value, source)
    return [*by_name.values(), *(Setting(name, None, "withheld") for name in read.withheld)]


def find_settings(places: Places, workspace: Path, name: str) -> list[Setting]:
    """Return a setting, or all settings of a section."""
    known = list_settings(places, workspace)
    found = [item for item in known if item.key == name or item.key.startswith(f"{name}.")]
    if not found:
        sections = {item.key.rpartition(".")[0] for item in known}
        near = did_you_mean_text(name, [*sections, *(item.key for item in known)]).strip()
        raise NotFound(f"There is no setting {name}.", near or "`roundtable config` lists the settings.")
    return found


def change_setting(places: Places, workspace: Path, name: str, typed: str, *, for_person: bool) -> tuple[Path, Any]:
    """Change one setting in a config file; return the file and the new value."""
    path = places.user_config if for_person else config.workspace_config_path(workspace)
    before = config.read_config_text(path, None if for_person else workspace)
    place = parse_setting_path(name)
    if not place:
        raise NotFound(f"{name} is not a valid setting name.", "Setting names look like limits.seat_timeout.")
    values = _parse_values(before, path)
    value = _find_fitting_value(values, place, typed, path)
    config.check_configured_default_meeting(
        places, workspace, config.parse_config(set_nested_setting(values, place, value), path), path
    )
    known = for_person or not config.find_trust_request(places, workspace).withheld
    write_config_file(path, set_setting_in_config_text(before, place, value, str(path)))
    if not for_person and known:
        config.trust_workspace(places, workspace)
    return path, value


def _parse_values(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse_toml_with_depth_limit(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Correct that line by hand first.") from None


def _find_fitting_value(values: dict[str, Any], place: tuple[str, ...], typed: str, path: Path) -> Any:
    """Return the typed text as TOML, as a text, or as a list: the first form that is valid."""
    first_error: ConfigError | None = None
    for value in _possible_values(typed):
        try:
            config.parse_config(set_nested_setting(values, place, value), path)
        except ConfigError as error:
            first_error = first_error or error
        else:
            return value
    assert first_error is not None
    raise first_error


def _possible_values(typed: str) -> Iterator[Any]:
    with contextlib.suppress(tomllib.TOMLDecodeError):
        yield parse_toml_with_depth_limit(f"value = {typed}")["value"]
    yield typed
    yield [word.strip() for word in typed.split(",") if word.strip()]


def _default_values() -> dict[str, Any]:
    return {
        **_struct_to_dict(config.Config()),
        "meetings": {name: meeting.settable() for name, meeting in MEETINGS.items()},
    }


def _struct_to_dict(value: msgspec.Struct) -> dict[str, Any]:
    """Return every field, including defaults."""
    fields = msgspec.structs.asdict(value)
    return {name: _struct_to_dict(item) if isinstance(item, msgspec.Struct) else item for name, item in fields.items()}


def _walk_leaves(values: dict[str, Any], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value with its path."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _walk_leaves(cast("dict[str, Any]", value), (*place, name))
        elif value is not None:
            yield (*place, name), value
