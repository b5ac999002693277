"""How Roundtable was installed: the command to type, and the pip command that adds an extra."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

PACKAGE_NAME = "roundtable-engine"
COMMAND_NAME = "roundtable"


class _Editable(msgspec.Struct):
    editable: bool = False


class _PackageOrigin(msgspec.Struct):
    """The record of pip for a package that was not installed from an index (`direct_url.json`)."""

    url: str = ""
    dir_info: _Editable = msgspec.field(default_factory=_Editable)


class Installation:
    """This installation of Roundtable."""

    @staticmethod
    def own_command() -> str:
        """Return the command that works in this folder: `roundtable` if it is on the PATH, else its path."""
        own = Path(sys.executable).with_name(COMMAND_NAME)
        program = shutil.which(COMMAND_NAME)
        if program and Path(program).resolve() == own.resolve():
            return COMMAND_NAME
        words = [str(own)] if own.exists() else [sys.executable, "-m", COMMAND_NAME]
        here = Path.cwd()
        shown = os.path.relpath(words[0], here) if Path(words[0]).is_relative_to(here) else words[0]
        return shlex.join([shown, *words[1:]])

    @staticmethod
    def install_command(extra: str) -> str:
        """Return the pip command that adds an extra to this installation."""
        origin = _read_package_origin()
        place = urlsplit(origin.url)
        source = unquote(place.path) if place.scheme == "file" else PACKAGE_NAME
        manner = ["--editable"] if origin.dir_info.editable else []
        return shlex.join([sys.executable, "-m", "pip", "install", *manner, f"{source}[{extra}]"])


def _read_package_origin() -> _PackageOrigin:
    try:
        return msgspec.json.decode(distribution(PACKAGE_NAME).read_text("direct_url.json") or "{}", type=_PackageOrigin)
    except (PackageNotFoundError, msgspec.MsgspecError):
        return _PackageOrigin()
