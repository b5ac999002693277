"""The forms in which a finished project is handed over, and the path of each."""

from __future__ import annotations

from typing import Literal

from roundtable.core.stages import SdlcSettings
from roundtable.core.values import Charter

HandoverForm = Literal["folder", "git", "zip"]


def is_session_handover_path_unnamed(name: str) -> bool:
    """Whether the last part of a path is empty or a relative folder such as `..`, so it cannot name the project."""
    return name.removesuffix(".zip") in ("", ".", "..")


def session_project_handover_path(charter: Charter, form: HandoverForm) -> str:
    """The path where a session hands over its project: `--into`, or a folder of the workspace named by the slug."""
    into = SdlcSettings.of(charter).into or charter.slug
    path = into if into.startswith("/") else f"{charter.workspace.rstrip('/')}/{into}"
    return session_handover_path_with_suffix(path, form)


def session_handover_path_with_suffix(path: str, form: HandoverForm) -> str:
    """The handover path with the suffix of the form: `.zip` for a zip file, the path itself otherwise."""
    return f"{path.removesuffix('.zip')}.zip" if form == "zip" else path
