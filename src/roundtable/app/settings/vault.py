"""The stored keys: in the system's keychain if there is one, else sealed in a file whose own key is kept apart."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from roundtable.app.settings.installation import Installation
from roundtable.app.settings.private_files import PrivateFile
from roundtable.core.faults import ConfigError, UsageError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


MIN_KEYCHAIN_PRIORITY = 1
"""Keyring backends below this priority fail, forget, or store passwords in plain text."""


class KeychainError(UsageError):
    """The keychain is locked or rejected the access."""


class Keychain:
    """The keys of one Roundtable home in the system's keychain."""

    def __init__(self, service: str) -> None:
        self._service = service

    @property
    def usable(self) -> bool:
        """Whether this machine has a keychain that can be used."""
        try:
            import keyring
        except ImportError:
            return False
        with _wrap_backend_errors():
            return keyring.get_keyring().priority >= MIN_KEYCHAIN_PRIORITY

    def get(self, name: str) -> str | None:
        """Return the key of that name."""
        import keyring

        with _wrap_backend_errors():
            return keyring.get_password(self._service, name)

    def put(self, name: str, value: str) -> None:
        """Store a key."""
        import keyring

        with _wrap_backend_errors():
            keyring.set_password(self._service, name, value)

    def remove(self, name: str) -> None:
        """Remove a key."""
        import keyring

        with _wrap_backend_errors():
            if keyring.get_password(self._service, name) is not None:
                keyring.delete_password(self._service, name)


@contextmanager
def _wrap_backend_errors() -> Generator[None]:
    """Convert any backend error; only its type is shown, because its text may contain the key."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        raise KeychainError(f"The keychain is not usable ({kind}).", "Unlock it and try again.") from None


KeyLocation = Literal["keychain", "file", "environment"]

MIN_TAILED_KEY_LENGTH = 20
"""Minimum length of a key whose last four characters may be shown."""


class StoredKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the key file: location and last characters. A key in the keychain is not in the file."""

    place: KeyLocation
    tail: str = ""
    sealed: str = ""


class _Contents(msgspec.Struct, forbid_unknown_fields=True):
    v: Literal[1] = 1
    keys: dict[str, StoredKey] = {}


class Vault:
    """The person's stored keys. `file` lists all of them; `seal` opens those stored in it."""

    def __init__(self, file: Path, seal: Path) -> None:
        self._file = PrivateFile(file)
        self._seal = PrivateFile(seal)
        self._keychain = Keychain(f"roundtable {file}")

    def list_stored(self) -> dict[str, StoredKey]:
        """Return every stored key by name, without opening any."""
        return self._read().keys

    def get(self, name: str) -> str | None:
        """Return the key of that name, or None."""
        stored = self._read().keys.get(name)
        if stored is None:
            return None
        return self._get_from_keychain(name) if stored.place == "keychain" else self._open_value(name, stored.sealed)

    def read_keys_in(self, place: KeyLocation) -> Iterator[str]:
        """Yield every key in one location that can be opened; others fail when they are used."""
        with suppress(UsageError):
            for name, stored in self.list_stored().items():
                if stored.place == place:
                    with suppress(UsageError):
                        yield self.get(name) or ""

    def put(self, name: str, value: str) -> StoredKey:
        """Store a key, replacing one of that name; return its entry."""
        tail = get_key_tail(value)
        in_keychain = self._put_in_keychain(name, value)
        with self._file.lock():
            contents = self._read()
            stored = (
                StoredKey("keychain", tail)
                if in_keychain
                else StoredKey("file", tail, self._seal_value(contents, value))
            )
            contents.keys[name] = stored
            self._write(contents)
        return stored

    def remove(self, name: str) -> StoredKey | None:
        """Remove a key; return its entry."""
        with self._file.lock():
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
        """Return whether the keychain stored the key; a locked keychain counts as none."""
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
                f"The key {name} is in a keychain, but no keychain is usable here.",
                f"Log in to the desktop, or install keychain support: {Installation.install_command('keychain')}",
            )

    # --- the file --------------------------------------------------------------------------------

    def _read(self) -> _Contents:
        data = self._file.read()
        try:
            return msgspec.json.decode(data, type=_Contents) if data is not None else _Contents()
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(
                f"{self._file.path} is damaged; it was not changed.",
                "Restore it from a backup, or move it away and store your keys again with `roundtable keys set`.",
            ) from None

    def _write(self, contents: _Contents) -> None:
        self._file.write(msgspec.json.format(msgspec.json.encode(contents), indent=1))

    def _seal_value(self, contents: _Contents, value: str) -> str:
        from cryptography.fernet import Fernet

        seal = self._seal.read()
        if seal is None:
            if locked := [name for name, stored in contents.keys.items() if stored.place == "file"]:
                raise self._lost_seal_error(locked)
            seal = Fernet.generate_key()
            self._seal.write(seal)
        return self._fernet(seal).encrypt(value.encode()).decode()

    def _open_value(self, name: str, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        seal = self._seal.read()
        if seal is None:
            raise self._lost_seal_error([name])
        try:
            return self._fernet(seal).decrypt(sealed).decode()
        except InvalidToken:
            raise ConfigError(
                f"The key {name} cannot be decrypted with {self._seal.path}.", _store_again_help(name)
            ) from None

    def _fernet(self, seal: bytes) -> Fernet:
        from cryptography.fernet import Fernet

        try:
            return Fernet(seal)
        except ValueError:
            raise ConfigError(
                f"{self._seal.path} is damaged; it was not changed.", "Restore it from a backup."
            ) from None

    def _lost_seal_error(self, names: list[str]) -> ConfigError:
        return ConfigError(
            f"{self._seal.path} is missing; without it these stored keys cannot be decrypted: {', '.join(names)}.",
            f"Restore it, or remove the keys: `roundtable keys remove {' '.join(names)}`.",
        )


def get_key_tail(key: str) -> str:
    """Return the last characters of a long key, to tell it from others."""
    return key[-4:] if len(key) >= MIN_TAILED_KEY_LENGTH else ""


def _store_again_help(name: str) -> str:
    return f"Store it again: `roundtable keys set {name}`."
