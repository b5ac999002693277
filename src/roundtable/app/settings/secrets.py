"""Keys by name: from the environment first, then from the person's stored keys. A used key is always redacted."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.app.settings.vault import StoredKey, Vault, get_key_tail
from roundtable.core.faults import ConfigError, NotFound, UsageError
from roundtable.core.text.redaction import Redactor, is_secret_name_to_redact, looks_like_secret_to_redact
from roundtable.voices.endpoints import (
    Endpoint,
    load_shipped_voice_endpoints,
    merge_voice_endpoints,
    override_shipped_voice_endpoint,
)

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_ASSIGNMENT = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)", re.ASCII | re.DOTALL)
_REFERENCE = re.compile(r"(?:env:|secret:|\$\{)?(.*?)\}?")

MAX_KEY_LENGTH = 8_000
"""Maximum characters of a key; servers accept no longer header."""

EXPOSED_KEY_HELP = (
    "Keys are not accepted as arguments: if you typed one, it is now in your shell's history. "
    "Remove it there, and run `roundtable keys set NAME`, which asks for the key."
)


class Keys:
    """Finds the key for `env:NAME` or `secret:NAME`.

    Its redactor knows the keys of the environment and of the sealed file from the start, and every key that was used. A
    keychain may ask the person to unlock it, so its keys are learned only before a person's words are stored.
    """

    def __init__(self, places: Places, endpoints: Iterable[Endpoint]) -> None:
        self._vault = Vault(places.secrets, places.seal)
        self._knows_keychain = False
        self.redactor = Redactor()
        named = {name for endpoint in endpoints for name in _find_endpoint_key_names(endpoint)}
        for name, value in os.environ.items():
            if name in named or (is_secret_name_to_redact(name) and looks_like_secret_to_redact(value)):
                self._learn_key(value)
        for key in self._vault.read_keys_in("file"):
            self._learn_key(key)

    def resolve(self, reference: str) -> str | None:
        """Return the key, or None if there is none; an unusable key store is an error."""
        name = _get_reference_name(reference)
        key = (os.environ.get(name) or self._vault.get(name)) if name else None
        self._learn_key(key or "")
        return key or None

    def find_location(self, reference: str) -> str:
        """Return where the key is, without opening it: `environment`, `keychain`, `file` or empty."""
        name = _get_reference_name(reference)
        if name and os.environ.get(name):
            return "environment"
        stored = self._vault.list_stored().get(name)
        return stored.place if stored else ""

    @staticmethod
    def describe_location(reference: str, place: str) -> str:
        """Return where a key was found in words: the environment variable, or the stored key."""
        name = reference.partition(":")[2]
        return name if place == "environment" else f"your stored {name}"

    def learn_keychain_keys(self) -> None:
        """Let the redactor learn the keys in the keychain, before a person's words are stored."""
        if not self._knows_keychain:
            self._knows_keychain = True
            for key in self._vault.read_keys_in("keychain"):
                self._learn_key(key)

    def _learn_key(self, value: str) -> None:
        if value and not _is_path_or_url(value):  # places come the same way and are no secrets
            _disable_core_dumps()
            self.redactor.learn(value, value.strip())


def _disable_core_dumps() -> None:
    """From now on, a crash of this process or of one that it starts writes no memory, with its keys, to the disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _find_endpoint_key_names(endpoint: Endpoint) -> list[str]:
    """Return the names that an endpoint looks up: of its key and in its address and headers."""
    return [*filter(None, [_get_reference_name(endpoint.key)]), *endpoint.list_variables()]


def _is_path_or_url(value: str) -> bool:
    """Return whether the value is an address or path, such as PWD; a key may start with a slash, too."""
    if value.startswith("/"):
        folder = value.split("/", 2)[1]
        return folder != "" and os.path.exists(f"/{folder}")
    return value.startswith(("http://", "https://", "~/", "./", "../"))


def _get_reference_name(reference: str) -> str:
    kind, _, name = reference.partition(":")
    return name if kind in ("env", "secret") else ""


# --- for the person who stores them ---------------------------------------------------------------


class KeyState(msgspec.Struct, frozen=True):
    """A key in a list: its location, its last characters and its endpoints."""

    name: str
    place: str
    tail: str
    endpoints: tuple[str, ...]


def list_keys(places: Places, workspace: Path) -> list[KeyState]:
    """Return every stored key, and every key in the environment that an endpoint uses."""
    endpoints = _load_endpoints(places, workspace).values()
    users = {
        name: tuple(item.name for item in endpoints if name in _find_endpoint_key_names(item))
        for endpoint in endpoints
        for name in _find_endpoint_key_names(endpoint)
    }
    here = {name: StoredKey("environment", get_key_tail(value)) for name in users if (value := os.environ.get(name))}
    stored = Vault(places.secrets, places.seal).list_stored()
    rows = [*here.items(), *stored.items()]
    return [
        KeyState(name, item.place, item.tail, users.get(name, ()))
        for name, item in sorted(rows, key=lambda row: row[0])
    ]


def store_key(places: Places, workspace: Path, given: str, typed: str) -> tuple[KeyState, bool]:
    """Store a key under the name that an endpoint or setting uses; returns True if it replaced another key."""
    name = resolve_key_name(places, workspace, given)
    key = _extract_key(typed, name)
    vault = Vault(places.secrets, places.seal)
    replaced = name in vault.list_stored()
    stored = vault.put(name, key)
    users = tuple(
        endpoint.name
        for endpoint in _load_endpoints(places, workspace).values()
        if name in _find_endpoint_key_names(endpoint)
    )
    return KeyState(name, stored.place, stored.tail, users), replaced


def _extract_key(typed: str, name: str) -> str:
    """Return the key alone: people copy it with quotes, or with the name it is assigned to."""
    assigned = _ASSIGNMENT.fullmatch(typed.strip())
    if assigned and assigned["name"] != name and is_secret_name_to_redact(assigned["name"]):
        raise UsageError(f"This text assigns a variable other than {name}.", "Enter only the key.")
    key = _strip_quotes(assigned["value"] if assigned and assigned["name"] == name else typed)
    if not key:
        raise UsageError(
            "The key was empty, so nothing was stored.", "Type or paste the key when asked, or pipe it to the command."
        )
    if len(key) > MAX_KEY_LENGTH:
        raise UsageError(f"This is not a key: it has more than {MAX_KEY_LENGTH:,} characters.", "Copy only the key.")
    if not (key.isascii() and key.isprintable()) or any(sign in key for sign in " \"'`"):
        raise UsageError("The key contains invalid characters.", "Copy only the key, without quotes or spaces.")
    return key


def _strip_quotes(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text


def remove_key(places: Places, workspace: Path, given: str) -> KeyState:
    """Remove a stored key."""
    name = resolve_key_name(places, workspace, given)
    stored = Vault(places.secrets, places.seal).remove(name)
    if stored is None:
        raise NotFound(f"There is no stored key named {name}.", "`roundtable keys list` shows the stored keys.")
    return KeyState(name, stored.place, stored.tail, ())


def resolve_key_name(places: Places, workspace: Path, given: str) -> str:
    """Return the name under which a key is stored, for an endpoint or a key name."""
    match = _REFERENCE.fullmatch(given)
    name = match[1] if match else given
    endpoints = _load_endpoints(places, workspace)
    endpoint = endpoints.get(name)
    if endpoint is not None:
        if endpoint.key == "none":
            raise UsageError(f"{name} needs no key.", f'To use one, write key = "secret:{name}" in its section.')
        return _get_reference_name(endpoint.key)
    if any(name in _find_endpoint_key_names(item) for item in endpoints.values()):
        return name
    if Redactor().finds(given) or looks_like_secret_to_redact(given):
        raise UsageError("This looks like a key, not like the name of one.", EXPOSED_KEY_HELP)
    if not _NAME.fullmatch(name):  # The name is not quoted: it may be a key typed by mistake.
        raise UsageError("This is not a valid key name.", "Use letters, digits, dots and dashes.")
    return name


def _load_endpoints(places: Places, workspace: Path) -> Mapping[str, Endpoint]:
    """Return the known endpoints. With an invalid config a person must still be able to store a key."""
    try:
        own = config.load_settings(places, workspace).config.endpoints
    except ConfigError:
        own = {}
    return merge_voice_endpoints(
        load_shipped_voice_endpoints().values(),
        [override_shipped_voice_endpoint(name, data) for name, data in own.items()],
    )
