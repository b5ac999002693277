"""Trust in a workspace: which of its settings need the person's permission, and for which files it was given.

A workspace can be a clone of a stranger's repository, so it may set only what a short list allows. Everything else is
withheld until the person runs `roundtable trust`, which is bound to the digests of the config and of the files with
meetings, stages and prompts. The chronicle is not among them: Roundtable writes it and never reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from roundtable.app.settings.config_files import WORKSPACE_CONFIG
from roundtable.app.settings.places import Places
from roundtable.app.settings.private_files import PrivateFile
from roundtable.app.settings.toml_text import SettingPath, format_setting_path
from roundtable.core.text.sanitize import sanitize_line

SETTINGS_WITHOUT_TRUST: frozenset[SettingPath] = frozenset({("context", "ignore")})
"""All that an untrusted workspace may set. Its ignored paths are added to the person's; it cannot show more files."""

_MAX_UNTRUSTED_ENTRIES = 100
"""A longer list needs trust: every entry is compared with every file."""
_NESTED_SECTIONS = frozenset({"seats", "meetings"})
"""Sections that hold a table for each name, whose settings are listed one by one."""
_CAPPED_LIMITS = frozenset(
    {"rounds", "seat_timeout", "round_deadline", "budget_usd", "budget_tokens", "max_tokens", "retries", "retry_delay"}
)
_RAISED_LIMITS = frozenset({"seats", "vendors"})
"""Keys of `limits.quorum`: here the person's value is the least that a workspace may set."""
_MAX_NAMED = 40
"""The number of withheld settings that one line names."""

TrustBefore = Literal["never", "older", "changed", "same"]
"""How the person trusted the workspace before: never, these files for fewer settings, other files, or these files."""


class WorkspaceFiles(msgspec.Struct, frozen=True):
    """The config of a workspace and the digests of all files that need trust, read once."""

    config: dict[str, Any] = {}
    config_data: bytes | None = None
    templates: dict[str, bytes] = {}

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file by its path."""
        files = self.templates if self.config_data is None else {WORKSPACE_CONFIG: self.config_data, **self.templates}
        return {path: sha256(data).hexdigest() for path, data in files.items()}

    @property
    def settings(self) -> dict[str, str]:
        """Everything that needs trust, with its value as JSON, or for a file its size and digest."""
        settings = {
            format_setting_path(path): json.dumps(value, default=str)
            for path, value in _list_settings(self.config)
            if not _is_allowed_without_trust(path, value)
        }
        return settings | {
            path: f"{len(data):,} bytes, sha256 {sha256(data).hexdigest()[:12]}"
            for path, data in self.templates.items()
        }

    def allowed_config(self, ignore: Iterable[str]) -> dict[str, Any]:
        """Return what the workspace may set without trust; `ignore` are the paths that are ignored anyway."""
        own = self.config.get("context", {}).get("ignore")
        return {"context": {"ignore": [*ignore, *own]}} if _is_allowed_without_trust(("context", "ignore"), own) else {}


class SettingChange(msgspec.Struct, frozen=True):
    """One setting or file that needs trust: its old value or None, and its new value or None."""

    name: str
    old: str | None
    new: str | None


class TrustRequest(msgspec.Struct, frozen=True):
    """The settings that trust in a workspace permits, the earlier trust, and the changes since (None if unknown)."""

    settings: dict[str, str]
    digests: dict[str, str]
    before: TrustBefore
    changes: tuple[SettingChange, ...] | None = ()
    may_exceed_limits: bool = False

    @property
    def is_trusted(self) -> bool:
        """Whether the person trusted exactly these files."""
        return self.before == "same"

    @property
    def withheld(self) -> tuple[str, ...]:
        """The names of the settings and files that have no effect; none once they are trusted."""
        return () if self.is_trusted else tuple(self.settings)


class _TrustedWorkspace(msgspec.Struct, frozen=True):
    """A workspace as the person trusted it: digests decide about trust, settings only show changes."""

    digests: dict[str, str]
    settings: dict[str, str]
    may_exceed_limits: bool = False


class TrustList:
    """The workspaces that the person trusts, in a file of the data folder.

    Earlier versions wrote one digest for each workspace and asked for fewer settings. Such a workspace is asked about
    once again.
    """

    def __init__(self, places: Places) -> None:
        self._file = PrivateFile(places.trusted)

    def find_request(self, workspace: Path, files: WorkspaceFiles) -> TrustRequest:
        """Return what trust in these files of a workspace permits, and whether it was given."""
        settings, digests = files.settings, files.digests
        match self._load().get(str(workspace)):
            case None:
                return TrustRequest(settings, digests, "never")
            case str(digest):
                if digest != _compute_older_digest(files):
                    return TrustRequest(settings, digests, "changed", None)
                unasked = [name for name in settings if not _was_asked_by_older_version(name)]
                changes = tuple(SettingChange(name, None, settings[name]) for name in unasked)
                return TrustRequest(settings, digests, "older", changes)
            case _TrustedWorkspace() as known:
                before: TrustBefore = "same" if known.digests == digests else "changed"
                changes = tuple(_find_changes(known.settings, settings))
                return TrustRequest(settings, digests, before, changes, known.may_exceed_limits)

    def add(self, workspace: Path, request: TrustRequest, *, may_exceed_limits: bool = False) -> None:
        """Trust the files of a request as they were when the person saw them."""
        trusted = _TrustedWorkspace(request.digests, request.settings, may_exceed_limits)
        with self._file.lock():
            self._save({**self._load(), str(workspace): trusted})

    def remove(self, workspace: Path) -> bool:
        """Revoke the trust in a workspace; False if it was not trusted."""
        if str(workspace) not in self._load():
            return False
        with self._file.lock():
            known = self._load()
            known.pop(str(workspace), None)
            self._save(known)
        return True

    def _load(self) -> dict[str, str | _TrustedWorkspace]:
        try:
            return msgspec.json.decode(self._file.path.read_bytes(), type=dict[str, str | _TrustedWorkspace])
        except (OSError, msgspec.DecodeError):
            return {}

    def _save(self, known: Mapping[str, str | _TrustedWorkspace]) -> None:
        self._file.write(msgspec.json.format(msgspec.json.encode(known), indent=1))


def name_withheld_settings(withheld: tuple[str, ...]) -> str:
    """Return the names of withheld settings for one line; they come from a stranger's file."""
    names = ", ".join(sanitize_line(name, 80) for name in withheld[:_MAX_NAMED])
    return f"{names} and {len(withheld) - _MAX_NAMED} more" if len(withheld) > _MAX_NAMED else names


def workspace_trust_notices(withheld: tuple[str, ...], capped: Iterable[SettingChange]) -> tuple[str, ...]:
    """Return a sentence on the withheld settings of a workspace, and one on its limits above those of the person."""
    sentences: list[str] = []
    if withheld:
        sentences.append(
            f"This workspace is not trusted, so these settings and files are withheld: "
            f"{name_withheld_settings(withheld)}. Run `roundtable trust` to review and allow them."
        )
    if limits := [f"limits.{change.name} stays {change.new}, not {change.old}" for change in capped]:
        sentences.append(
            f"Your own limits apply to this workspace: {', '.join(limits)}. "
            "`roundtable trust --exceed-limits` permits higher ones."
        )
    return tuple(sentences)


def cap_limits_in_workspace_config(
    caps: Mapping[str, Any], limits: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[SettingChange, ...]]:
    """Return the limits of a workspace within those that the person set, and the changes that this made."""
    capped: dict[str, Any] = {}
    for name, value in limits.items():
        cap = caps.get(name)
        if name == "quorum" and isinstance(cap, dict) and isinstance(value, dict):
            least = cast("dict[str, Any]", cap)
            quorum = cast("dict[str, Any]", value)
            capped[name] = {
                key: max(own, least[key]) if key in _RAISED_LIMITS and key in least else own
                for key, own in quorum.items()
            }
        elif name in _CAPPED_LIMITS and isinstance(cap, int | float):
            capped[name] = min(value, cap)
        else:
            capped[name] = value
    return capped, tuple(_find_changes(_flatten_limits(limits), _flatten_limits(capped)))


def _flatten_limits(limits: Mapping[str, Any]) -> dict[str, str]:
    """Return every limit by its name; those of the quorum one by one."""
    return {
        format_setting_path(path): json.dumps(item, default=str)
        for name, value in limits.items()
        for path, item in (
            [((name, key), item) for key, item in cast("dict[str, Any]", value).items()]
            if isinstance(value, dict)
            else [((name,), value)]
        )
    }


def _find_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[SettingChange]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield SettingChange(name, old.get(name), new.get(name))


def _list_settings(config: Mapping[str, Any]) -> Iterator[tuple[SettingPath, Any]]:
    """Yield every setting: in most sections the keys, and in those with a table for each name the keys of each."""
    for section, values in config.items():
        if not isinstance(values, dict):
            yield (section,), values
            continue
        for name, value in cast("dict[str, Any]", values).items():
            if section in _NESTED_SECTIONS and isinstance(value, dict) and value:
                yield from (((section, name, key), item) for key, item in cast("dict[str, Any]", value).items())
            else:
                yield (section, name), value


def _is_allowed_without_trust(path: SettingPath, value: object) -> bool:
    return (
        path in SETTINGS_WITHOUT_TRUST
        and isinstance(value, list)
        and len(cast("list[object]", value)) <= _MAX_UNTRUSTED_ENTRIES
    )


# --- trust that an earlier version recorded --------------------------------------------------------

_OLDER_SECTIONS = ("endpoints.", "agents.", "checks.", "sandbox.", "hooks.", "worktrees.", ".roundtable/")
_OLDER_SEAT_KEYS = (".voices", ".judge")


def _was_asked_by_older_version(name: str) -> bool:
    return name.startswith(_OLDER_SECTIONS) or (name.startswith("seats.") and name.endswith(_OLDER_SEAT_KEYS))


def _compute_older_digest(files: WorkspaceFiles) -> str:
    """Return the one digest of the config and all other files that earlier versions recorded."""
    digest = sha256(files.config_data or b"")
    for path, data in files.templates.items():
        digest.update(f"\0{path}\0{sha256(data).hexdigest()}".encode())
    return digest.hexdigest()
