"""Reads config files and templates: regular files of limited size; those of a workspace never through a symlink."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from roundtable.core.faults import ConfigError
from roundtable.workshop.rooted_files import READ_FLAGS, ConfinedFolder, UnsafePath

WORKSPACE_CONFIG = ".roundtable/config.toml"
MAX_CONFIG_BYTES = 256_000

_USER_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK


def read_workspace_config_file(workspace: Path, name: str, max_bytes: int = MAX_CONFIG_BYTES) -> bytes | None:
    """Return a file of a workspace, or None if there is none; raise ConfigError for anything but a regular file.

    A file in a linked folder is no file of the workspace.
    """
    path = workspace / name
    try:
        with (
            ConfinedFolder.open(workspace) as folder,
            folder.open_parent(name) as (last, parent),
            os.fdopen(_open_regular_file(path, last, READ_FLAGS, parent), "rb") as file,
        ):
            return _read_limited(path, file, max_bytes)
    except (FileNotFoundError, UnsafePath):
        return None
    except OSError as error:
        raise _unreadable_error(path, error) from None


def read_user_config_file(path: Path, max_bytes: int = MAX_CONFIG_BYTES) -> bytes | None:
    """Return a file that the person named or owns, also through a symlink; None if there is none."""
    try:
        with os.fdopen(_open_regular_file(path, str(path), _USER_FILE_FLAGS), "rb") as file:
            return _read_limited(path, file, max_bytes)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable_error(path, error) from None


def _open_regular_file(path: Path, name: str, flags: int, parent: int | None = None) -> int:
    """Open a file that exists; devices and pipes are not opened, because that can block or have an effect."""
    follow = not flags & os.O_NOFOLLOW
    mode = os.stat(name, dir_fd=parent, follow_symlinks=follow).st_mode
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"
        raise ConfigError(f"{path} is {kind}, not a regular file.", "Replace or remove it.")
    return os.open(name, flags, dir_fd=parent)


def _read_limited(path: Path, file: BinaryIO, max_bytes: int) -> bytes:
    data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ConfigError(f"{path} is larger than {max_bytes:,} bytes.", "Make it shorter.")
    return data


def _unreadable_error(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path} cannot be read: {error.strerror}.", "Check the owner and permissions of the file.")
