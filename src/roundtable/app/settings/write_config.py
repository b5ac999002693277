"""Writes a config: existing settings are kept, missing ones are added, and the person sees the draft first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.app.settings.toml_text import (
    format_setting_name_as_toml,
    format_setting_path,
    format_setting_value_as_toml,
)
from roundtable.core.faults import ConfigError, UsageError
from roundtable.core.text.strict_toml import parse_toml_with_depth_limit
from roundtable.core.values import Seat

DEFAULT_BUDGET_USD = 1.0
"""Dollars per meeting for seats that are paid by the token."""

_FILE_HEADER = """\
# Settings of Roundtable {where}. `roundtable config` shows the settings in force and their sources.
# Keys are never stored in this file: `roundtable keys set NAME` stores one."""
_REMARKS: dict[tuple[str, ...], str] = {
    ("table",): "the defaults of a meeting",
    ("table", "meeting"): "`roundtable discuss --meeting NAME` overrides it",
    ("table", "seats"): "the seats of a meeting, in this order",
    ("limits",): "limits for every meeting",
    ("limits", "seat_timeout"): "seconds per turn",
    ("limits", "budget_usd"): "no new round once this much is spent; a budget here allows Roundtable to spend it",
    ("language",): "the language of the discussion",
    ("context", "ignore"): "paths that are never shown to seats",
}
_NO_SEATS_COMMENT = """
# No seat can speak yet. A seat is a name and a chain of voices; the first available voice speaks:
# [seats.claude]
# voices = ["cli:claude", "anthropic:claude-sonnet-4-6"]
"""


class ConfigDraft(msgspec.Struct, frozen=True):
    """A config as it is, the text to be added, and the settings that stay unchanged."""

    path: Path
    before: str
    added: str
    kept: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path, workspace: Path | None, settings: dict[str, Any]) -> ConfigDraft:
        """Draft the additions to a workspace's config, or without one to the person's; existing settings are kept."""
        before = config.read_config_text(path, workspace)
        existing = parse_toml_with_depth_limit(before)
        top = {name: value for name, value in settings.items() if not isinstance(value, dict)}
        kept = [name for name in top if name in existing]
        parts: list[str] = []
        if not before:
            parts += [
                _FILE_HEADER.format(where="in this workspace" if workspace else "for all workspaces"),
                *[_format_setting_line((name,), value) for name, value in top.items()],
            ]
            parts += [] if settings.get("seats") else [_NO_SEATS_COMMENT.rstrip()]
        elif missing := [name for name in top if name not in existing]:
            kept += [f"{name} (not changed: set it by hand or with `roundtable config set`)" for name in missing]
        for section, values in _list_sections(settings):
            if _has_section(existing, section):
                kept.append(format_setting_path(section))
            else:
                lines = "\n".join(_format_setting_line((*section, name), value) for name, value in values.items())
                parts.append(f"\n[{format_setting_path(section)}]{_format_remark(section)}\n{lines}")
        added = "\n".join(parts) + "\n" if parts else ""
        if added and before and not before.endswith("\n"):
            added = "\n" + added
        return cls(path, before, added, tuple(kept))

    def write(self, places: Places, workspace: Path | None) -> bool:
        """Write the config; a workspace that was trusted stays trusted. Return whether it is trusted."""
        config.parse_config(parse_toml_with_depth_limit(self.after), self.path)
        known = workspace is not None and not config.find_trust_request(places, workspace).withheld
        write_config_file(self.path, self.after)
        if workspace is not None and known:
            config.trust_workspace(places, workspace)
        return workspace is None or known

    @property
    def after(self) -> str:
        """The whole file with the additions."""
        return self.before + self.added


def build_config_for_seats(seats: Sequence[Seat], *, paid: bool) -> dict[str, Any]:
    """Return the settings of a new config with these seats; with paid seats it has a budget."""
    named = {
        seat.name: {"voices": list(seat.voices), **({"brief": seat.brief} if seat.brief else {})} for seat in seats
    }
    settings: dict[str, Any] = {"table": {"meeting": "council", "seats": list(named)}} if named else {}
    if paid:
        settings["limits"] = {"budget_usd": DEFAULT_BUDGET_USD}
    return {**settings, "seats": named}


def write_config_file(path: Path, text: str) -> None:
    """Write a config atomically; never through a linked folder."""
    if path.parent.is_symlink():
        raise UsageError(f"{path.parent} is a link, so nothing is written there.", "Replace the link with a folder.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.write_text(text)
        if path.exists():
            shutil.copymode(path, fresh)
        os.replace(fresh, path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", "Check the owner and permissions of the folder."
        ) from None


def _list_sections(settings: dict[str, Any]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Return `[table]` and one section for each seat, endpoint and meeting."""
    sections: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for name, values in settings.items():
        if not isinstance(values, dict):
            continue
        inside = cast("dict[str, Any]", values)
        if name in ("seats", "endpoints", "meetings"):
            sections += [((name, own), each) for own, each in inside.items()]
        elif inside:
            sections.append(((name,), inside))
    return sections


def _has_section(values: dict[str, Any], section: tuple[str, ...]) -> bool:
    here: Any = values
    for name in section:
        if name not in here:
            return False
        here = here[name]
    return True


def _format_setting_line(path: tuple[str, ...], value: Any) -> str:
    return f"{format_setting_name_as_toml(path[-1])} = {format_setting_value_as_toml(value)}{_format_remark(path)}"


def _format_remark(path: tuple[str, ...]) -> str:
    return f"  # {_REMARKS[path]}" if path in _REMARKS else ""
