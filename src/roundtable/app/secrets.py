"""Keys by name: from the environment first, then from those the person stored. What is given out is never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from roundtable.app import config
from roundtable.app.places import Places
from roundtable.app.vault import Stored, Vault, tail_of
from roundtable.core.faults import ConfigError, NotFound, UsageError
from roundtable.core.redaction import Redactor, random_looking, telling
from roundtable.voices.endpoints import Endpoint, merged, read_endpoint, shipped_endpoints, variables

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"(?:env:|secret:|\$\{)?(.*?)\}?")


class Keys:
    """Finds the key behind `env:NAME` or `secret:NAME`; its redactor knows every key that it gave out."""

    def __init__(self, places: Places, endpoints: Iterable[Endpoint]) -> None:
        self._vault = Vault(places.secrets, places.seal)
        self.redactor = Redactor(value for name, value in os.environ.items() if telling(name) and random_looking(value))
        for name in {name for endpoint in endpoints for name in names_in(endpoint)}:
            self._learn(os.environ.get(name, ""))

    def resolve(self, reference: str) -> str | None:
        """The key, or None where there is none; a store that cannot be used is an error that says what to do."""
        name = _name_in(reference)
        key = (os.environ.get(name) or self._vault.get(name)) if name else None
        self._learn(key or "")
        return key or None

    def place(self, reference: str) -> str:
        """Where the key is: `environment`, `keychain`, `file`, or nowhere. It is not opened for that."""
        name = _name_in(reference)
        if name and os.environ.get(name):
            return "environment"
        stored = self._vault.stored().get(name)
        return stored.place if stored else ""

    def _learn(self, value: str) -> None:
        if not value.startswith(("http://", "https://")):  # addresses come the same way and are no secrets
            self.redactor.learn(value, value.strip())


def names_in(endpoint: Endpoint) -> list[str]:
    """The names an endpoint looks up: its key's, and those in its address and headers."""
    return [*filter(None, [_name_in(endpoint.key)]), *variables(endpoint)]


def _name_in(reference: str) -> str:
    kind, _, name = reference.partition(":")
    return name if kind in ("env", "secret") else ""


# --- for the person who stores them ---------------------------------------------------------------


class KeyState(msgspec.Struct, frozen=True):
    """A key as a list shows it: where it lives, how it ends and who uses it."""

    name: str
    place: str
    tail: str
    endpoints: tuple[str, ...]


def list_keys(places: Places, workspace: Path) -> list[KeyState]:
    """Every key that is stored, and every one in the environment that an endpoint uses; the first of a name counts."""
    endpoints = _endpoints(places, workspace).values()
    users = {
        name: tuple(it.name for it in endpoints if name in names_in(it)) for it in endpoints for name in names_in(it)
    }
    here = {name: Stored("environment", tail_of(value)) for name in users if (value := os.environ.get(name))}
    stored = Vault(places.secrets, places.seal).stored()
    rows = [*here.items(), *stored.items()]
    return [KeyState(name, it.place, it.tail, users.get(name, ())) for name, it in sorted(rows, key=lambda row: row[0])]


def store_key(places: Places, workspace: Path, given: str, key: str) -> KeyState:
    """Store a key under the name that the endpoint or setting called `given` looks for."""
    name, key = stored_name(places, workspace, given), key.strip()
    if not key:
        raise UsageError("No key came in, and nothing was stored.", "Type or paste it when asked, or pipe it in.")
    if not (key.isascii() and key.isprintable()):
        raise UsageError("That has characters that no key has.", "Copy it again, without quotes or line breaks.")
    stored = Vault(places.secrets, places.seal).put(name, key)
    users = tuple(it.name for it in _endpoints(places, workspace).values() if name in names_in(it))
    return KeyState(name, stored.place, stored.tail, users)


def remove_key(places: Places, workspace: Path, given: str) -> KeyState:
    """Forget a stored key."""
    name = stored_name(places, workspace, given)
    stored = Vault(places.secrets, places.seal).remove(name)
    if stored is None:
        raise NotFound(f"No key is stored as {name}.", "`roundtable keys list` shows those that are.")
    return KeyState(name, stored.place, stored.tail, ())


def stored_name(places: Places, workspace: Path, given: str) -> str:
    """The name under which a key is stored: that of a setting, or the one an endpoint looks for."""
    if Redactor().finds(given):
        raise UsageError("That looks like a key, not like the name of one.", "Give a name; the key is asked for then.")
    found = _REFERENCE.fullmatch(given)
    name = found[1] if found else given
    endpoint = _endpoints(places, workspace).get(name)
    if endpoint is not None:
        if endpoint.key == "none":
            raise UsageError(f"{name} needs no key.", f'To give it one, write key = "secret:{name}" in its section.')
        name = _name_in(endpoint.key)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name} cannot be the name of a key.", "Use letters, digits, dots and dashes.")
    return name


def _endpoints(places: Places, workspace: Path) -> Mapping[str, Endpoint]:
    """The endpoints known here. A config that is refused must not keep anybody from storing the key it should name."""
    try:
        own = config.load(places, workspace).config.endpoints
    except ConfigError:
        own = {}
    return merged(shipped_endpoints().values(), [read_endpoint(name, data) for name, data in own.items()])
