"""Stored keys: each in the system's keychain where there is one, else sealed in a file whose own key is kept apart.

The system's own keychain, through `keyring`, on machines that have one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from roundtable.app.settings.installation import render_install_command
from roundtable.app.settings.private_files import lock_private_file, read_private_file, write_private_file
from roundtable.core.faults import ConfigError, UsageError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


MIN_KEYCHAIN_PRIORITY = 1
"""Backends below this priority fail, forget, or keep passwords in plain text."""


class KeychainError(UsageError):
    """The keychain is locked, or says no."""


class Keychain:
    """The keys of one home among everything else that is in the keychain."""

    def __init__(self, service: str) -> None:
        self._service = service

    @property
    def usable(self) -> bool:
        """Whether this machine has a keychain, and we can reach it."""
        try:
            import keyring
        except ImportError:
            return False
        with _wrap_backend_errors():
            return keyring.get_keyring().priority >= MIN_KEYCHAIN_PRIORITY

    def get(self, name: str) -> str | None:
        """The key of that name."""
        import keyring

        with _wrap_backend_errors():
            return keyring.get_password(self._service, name)

    def put(self, name: str, value: str) -> None:
        """Keep a key."""
        import keyring

        with _wrap_backend_errors():
            keyring.set_password(self._service, name, value)

    def remove(self, name: str) -> None:
        """Forget a key."""
        import keyring

        with _wrap_backend_errors():
            if keyring.get_password(self._service, name) is not None:
                keyring.delete_password(self._service, name)


@contextmanager
def _wrap_backend_errors() -> Generator[None]:
    """Every backend fails in its own way. Only the kind is told: an error's text may hold what was to be kept."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        raise KeychainError(f"The keychain cannot be used ({kind}).", "Unlock it and try again.") from None


KeyLocation = Literal["keychain", "file", "environment"]

MIN_TAILED_KEY_LENGTH = 20
"""A key of at least so many letters may be told apart by its last four."""


class StoredKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """One key as the file knows it: where it lives and how it ends. A key in the keychain is not in the file at all."""

    place: KeyLocation
    tail: str = ""
    sealed: str = ""


class _Contents(msgspec.Struct, forbid_unknown_fields=True):
    v: Literal[1] = 1
    keys: dict[str, StoredKey] = {}


class Vault:
    """The keys a person stored. `file` lists them all; `seal` opens those that are in it."""

    def __init__(self, file: Path, seal: Path) -> None:
        self._file = file
        self._seal = seal
        self._keychain = Keychain(f"roundtable {file}")

    def list_stored(self) -> dict[str, StoredKey]:
        """Every stored key by name; nothing is opened for it."""
        return self._read().keys

    def get(self, name: str) -> str | None:
        """The key of that name, or None if none is stored."""
        stored = self._read().keys.get(name)
        if stored is None:
            return None
        return self._get_from_keychain(name) if stored.place == "keychain" else self._open_value(name, stored.sealed)

    def read_keys_in(self, place: KeyLocation) -> Iterator[str]:
        """Every key in one place that can be opened; the others are told of when they are asked for."""
        with suppress(UsageError):
            for name, stored in self.list_stored().items():
                if stored.place == place:
                    with suppress(UsageError):
                        yield self.get(name) or ""

    def put(self, name: str, value: str) -> StoredKey:
        """Store a key, in place of an older one of that name; says where it went."""
        tail = get_key_tail(value)
        kept = self._put_in_keychain(name, value)
        with lock_private_file(self._file):
            contents = self._read()
            stored = StoredKey("keychain", tail) if kept else StoredKey("file", tail, self._seal_value(contents, value))
            contents.keys[name] = stored
            self._write(contents)
        return stored

    def remove(self, name: str) -> StoredKey | None:
        """Forget a key; says where it was."""
        with lock_private_file(self._file):
            contents = self._read()
            stored = contents.keys.pop(name, None)
            if stored is not None:
                if stored.place == "keychain":
                    self._require_keychain(name)
                    self._keychain.remove(name)
                self._write(contents)
        return stored

    # --- the keychain ----------------------------------------------------------------------------

    def _put_in_keychain(self, name: str, value: str) -> bool:
        """Whether the keychain took it; one that is locked or says no is as good as none."""
        try:
            if not self._keychain.usable:
                return False
            self._keychain.put(name, value)
        except KeychainError:
            return False
        return True

    def _get_from_keychain(self, name: str) -> str:
        self._require_keychain(name)
        value = self._keychain.get(name)
        if value is None:
            raise ConfigError(f"The keychain no longer has the key {name}.", _store_again_help(name))
        return value

    def _require_keychain(self, name: str) -> None:
        if not self._keychain.usable:
            raise KeychainError(
                f"The key {name} is in a keychain, and there is none that can be used from here.",
                f"Log in to the desktop, or install the way to it: {render_install_command('keychain')}",
            )

    # --- the file --------------------------------------------------------------------------------

    def _read(self) -> _Contents:
        data = read_private_file(self._file)
        try:
            return msgspec.json.decode(data, type=_Contents) if data is not None else _Contents()
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(
                f"{self._file} is damaged and was left as it is.",
                "Restore it from a copy; or move it away, and store your keys again with `roundtable keys set`.",
            ) from None

    def _write(self, contents: _Contents) -> None:
        write_private_file(self._file, msgspec.json.format(msgspec.json.encode(contents), indent=1))

    def _seal_value(self, contents: _Contents, value: str) -> str:
        from cryptography.fernet import Fernet

        seal = read_private_file(self._seal)
        if seal is None:
            if locked := [name for name, stored in contents.keys.items() if stored.place == "file"]:
                raise self._lost_seal_error(locked)
            seal = Fernet.generate_key()
            write_private_file(self._seal, seal)
        return self._fernet(seal).encrypt(value.encode()).decode()

    def _open_value(self, name: str, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        seal = read_private_file(self._seal)
        if seal is None:
            raise self._lost_seal_error([name])
        try:
            return self._fernet(seal).decrypt(sealed).decode()
        except InvalidToken:
            raise ConfigError(f"{self._seal} does not open the key {name}.", _store_again_help(name)) from None

    def _fernet(self, seal: bytes) -> Fernet:
        from cryptography.fernet import Fernet

        try:
            return Fernet(seal)
        except ValueError:
            raise ConfigError(f"{self._seal} is damaged and was left as it is.", "Restore it from a copy.") from None

    def _lost_seal_error(self, names: list[str]) -> ConfigError:
        return ConfigError(
            f"{self._seal} is gone, and without it these stored keys cannot be opened: {', '.join(names)}.",
            f"Put it back, or give them up: `roundtable keys remove {' '.join(names)}`.",
        )


def get_key_tail(key: str) -> str:
    """Enough of a long key to tell it from others."""
    return key[-4:] if len(key) >= MIN_TAILED_KEY_LENGTH else ""


def _store_again_help(name: str) -> str:
    return f"Store it again: `roundtable keys set {name}`."
