"""The forms in which a finished project is handed over, and the path of each."""

from __future__ import annotations

from typing import Literal

from roundtable.core.stages import SdlcSettings
from roundtable.core.values import Charter

HandoverForm = Literal["folder", "git", "zip"]


def is_nameless_path(name: str) -> bool:
    """Whether the last part of a path contains no name for the project."""
    return name.removesuffix(".zip") in ("", ".", "..")


def charter_handover_path(charter: Charter, form: HandoverForm) -> str:
    """The path for the project of a charter: `--into`, or a folder in the workspace named after the session."""
    into = SdlcSettings.of(charter).into or charter.slug
    path = into if into.startswith("/") else f"{charter.workspace.rstrip('/')}/{into}"
    return handover_path_of_form(path, form)


def handover_path_of_form(path: str, form: HandoverForm) -> str:
    """A path as this form of handover needs it: a zip file ends in `.zip`."""
    return f"{path.removesuffix('.zip')}.zip" if form == "zip" else path
