"""Settings: the command line over the workspace over the person over the defaults. Unknown keys are errors."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import msgspec

from roundtable.app.literal_keys import refuse_keys
from roundtable.app.places import Places
from roundtable.core.faults import ConfigError
from roundtable.core.values import Limits, Quorum, Right
from roundtable.voices.agents.catalog import with_own
from roundtable.voices.datafile import in_words
from roundtable.voices.endpoints import read_endpoint


class TableSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[table]`: the defaults of a meeting."""

    meeting: str = "council"
    seats: tuple[str, ...] = ()


class SeatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[seats.NAME]`: who sits there and how the seat is reached."""

    voices: tuple[str, ...] = ()
    judge: str = ""
    role: str = ""
    brief: str = ""
    capabilities: tuple[str, ...] = ()
    priority: int = 0
    color: str = ""
    rights: tuple[Right, ...] = (Right.SPEAK, Right.VOTE, Right.JUDGE)
    enabled: bool = True


class QuorumSettings(Quorum, frozen=True, forbid_unknown_fields=True):
    """`limits.quorum`: the bar set before the first answer."""


class LimitSettings(Limits, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: caps that hold for every meeting."""

    quorum: QuorumSettings = QuorumSettings()

    def as_limits(self) -> Limits:
        """The same, as a value of the record."""
        return msgspec.convert(msgspec.to_builtins(self), Limits)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a config file may say."""

    language: str = "en"
    table: TableSettings = TableSettings()
    meetings: dict[str, dict[str, Any]] = {}
    limits: LimitSettings = LimitSettings()
    seats: dict[str, SeatSettings] = {}
    endpoints: dict[str, dict[str, Any]] = {}
    agents: dict[str, dict[str, Any]] = {}


class Settings(msgspec.Struct, frozen=True):
    """The config in force, and what an untrusted workspace was not allowed to say."""

    config: Config
    withheld: tuple[str, ...] = ()


def load(places: Places, workspace: Path) -> Settings:
    """Read the person's config and the workspace's, and lay one over the other."""
    person = _read(places.user_config)
    path = workspace / ".roundtable" / "config.toml"
    own = _read(path)
    withheld: tuple[str, ...] = ()
    if own and not is_trusted(places, workspace):
        own, withheld = _without_reach(own)
    merged = _overlay(person, own)
    return Settings(_convert(merged, path), withheld)


def trust(places: Places, workspace: Path) -> None:
    """Let this workspace's config, as it is now, name endpoints, programs and keys."""
    known = _trusted(places)
    known[str(workspace)] = _fingerprint(workspace)
    places.trusted.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    places.trusted.touch(0o600)
    places.trusted.write_text(json.dumps(known, indent=1))


def revoke(places: Places, workspace: Path) -> bool:
    """Take a workspace's trust back; False if it had none."""
    known = _trusted(places)
    if known.pop(str(workspace), None) is None:
        return False
    places.trusted.write_text(json.dumps(known, indent=1))
    return True


def reach(workspace: Path) -> dict[str, str]:
    """What this workspace's config would be allowed to name: each setting that waits for trust, with its value."""
    own = _read(workspace / ".roundtable" / "config.toml")
    asked = {
        f"{table}.{name}": json.dumps(value) for table in _REACHING_TABLES for name, value in own.get(table, {}).items()
    }
    for name, seat in own.get("seats", {}).items():
        asked |= {f"seats.{name}.{key}": json.dumps(seat[key]) for key in _REACHING if key in seat}
    return asked


def is_trusted(places: Places, workspace: Path) -> bool:
    """Whether the person trusted this config, word for word."""
    return _trusted(places).get(str(workspace)) == _fingerprint(workspace)


def _trusted(places: Places) -> dict[str, str]:
    try:
        return msgspec.json.decode(places.trusted.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def _fingerprint(workspace: Path) -> str:
    path = workspace / ".roundtable" / "config.toml"
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""


_REACHING = ("voices", "judge")
"""What a seat's section may say that reaches a program, an address or a key."""
_REACHING_TABLES = ("endpoints", "agents")


def _without_reach(own: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Take out what would let a cloned workspace reach a program, an address or a key."""
    withheld = [name for name in _REACHING_TABLES if name in own]
    kept = {name: value for name, value in own.items() if name not in _REACHING_TABLES}
    seats = cast("dict[str, dict[str, Any]]", kept.get("seats", {}))
    for name, seat in seats.items():
        withheld += [f"seats.{name}.{key}" for key in _REACHING if key in seat]
    if seats:
        kept["seats"] = {
            name: {key: value for key, value in seat.items() if key not in _REACHING} for name, seat in seats.items()
        }
    return kept, tuple(withheld)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Mend that line and try again.") from error
    refuse_keys(values, str(path))
    _convert(values, path)
    return values


def _convert(values: dict[str, Any], path: Path) -> Config:
    try:
        config = msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        raise _explained(str(error), path) from None
    for name, endpoint in config.endpoints.items():
        read_endpoint(name, endpoint, f"{path}: endpoints.{name}")
    if config.agents:
        with_own(config.agents, f"{path}: ")
    return config


def _overlay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _overlay(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


_UNKNOWN = re.compile(r"unknown field `(?P<field>.+?)`(?: - at `\$\.?(?P<at>.*)`)?")


def _explained(message: str, path: Path) -> ConfigError:
    """A decoder's complaint in words a person can act on, with the nearest known key."""
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        return ConfigError(f"{path}: {in_words(message)}", "`roundtable doctor` checks the file again.")
    where = unknown["at"] or ""
    known = _fields_at(where)
    near = difflib.get_close_matches(unknown["field"], known, 1)
    place = f" in [{where.replace('[...]', '.NAME')}]" if where else ""
    hint = f"Did you mean {near[0]}?" if near else f"Known keys there: {', '.join(known)}."
    return ConfigError(f"{path}: there is no setting {unknown['field']}{place}.", hint)


def _fields_at(where: str) -> list[str]:
    tables: dict[str, type[msgspec.Struct]] = {
        "": Config,
        "table": TableSettings,
        "limits": LimitSettings,
        "limits.quorum": Quorum,
        "seats[...]": SeatSettings,
    }
    return [field.encode_name for field in msgspec.structs.fields(tables.get(where, Config))]
