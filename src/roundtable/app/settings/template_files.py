"""The files with meetings and prompts that a person or a workspace adds to the shipped ones."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from roundtable.app.settings.config_files import read_user_config_file, read_workspace_config_file
from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.strict_toml import decode_utf8_text
from roundtable.core.text.wording import did_you_mean_text
from roundtable.meetings import MEETINGS

MAX_TEMPLATE_BYTES = 64_000
MEETING_FILES = "meetings/*.toml"
STAGE_FILES = "stages/*.toml"


def prompt_file_glob_in_config(meeting: str) -> str:
    """Return the glob of one meeting's prompts."""
    return f"prompts/{meeting}/*.md"


def load_preset_config_texts() -> dict[str, str]:
    """Return the texts of the shipped presets by name."""
    folder = resources.files("roundtable.meetings") / "presets"
    files = (traversable for traversable in folder.iterdir() if traversable.name.endswith(".toml"))
    return {
        traversable.name.removesuffix(".toml"): traversable.read_text()
        for traversable in sorted(files, key=lambda item: item.name)
    }


class TemplateFile(msgspec.Struct, frozen=True):
    """A file with a meeting, stages or a prompt; one in a workspace is never read through a symlink."""

    path: Path
    workspace: Path | None = None

    def read(self) -> bytes:
        """Return the content; raise ConfigError if the file is too large or not a regular file."""
        if self.workspace is None:
            data = read_user_config_file(self.path, MAX_TEMPLATE_BYTES)
        else:
            data = read_workspace_config_file(self.workspace, self.name_in_workspace, MAX_TEMPLATE_BYTES)
        if data is None:
            raise ConfigError(f"{self.path} does not exist.", "Check the file.")
        return data

    def read_text(self) -> str:
        """Return the content as text."""
        return decode_utf8_text(self.read(), str(self.path))

    @property
    def name_in_workspace(self) -> str:
        """The path below the workspace, with slashes."""
        return self.path.relative_to(self.workspace or self.path.anchor).as_posix()


def find_template_files_in_user_config(places: Places, pattern: str) -> dict[str, TemplateFile]:
    """Return the person's files of one kind by name."""
    return {path.stem: TemplateFile(path) for path in sorted(places.config.glob(pattern)) if path.is_file()}


def find_template_files_in_workspace_config(workspace: Path, pattern: str) -> dict[str, TemplateFile]:
    """Return a workspace's files of one kind by name.

    Files behind links are skipped because they could reveal other content to seats, and so are files over the limit.
    """
    folder = workspace / ".roundtable"
    if folder.is_symlink():
        return {}
    root = folder.resolve()
    paths = (
        path for path in sorted(folder.glob(pattern)) if path.is_file() and path.stat().st_size <= MAX_TEMPLATE_BYTES
    )
    return {
        path.stem: TemplateFile(path, workspace) for path in paths if path.resolve() == root / path.relative_to(folder)
    }


def read_template_files_needing_trust(workspace: Path) -> dict[str, bytes]:
    """Return every file of a workspace that adds to prompts, by its path: they need the person's trust."""
    spoken = [item.name for item in sorted((workspace / ".roundtable" / "prompts").glob("*"))]
    kinds = [MEETING_FILES, STAGE_FILES, *map(prompt_file_glob_in_config, spoken)]
    files = [file for kind in kinds for file in find_template_files_in_workspace_config(workspace, kind).values()]
    return {file.name_in_workspace: file.read() for file in files}


def list_configured_meeting_names(places: Places, workspace: Path) -> list[str]:
    """Return the names of all meetings in the order of a list."""
    own = (
        *find_template_files_in_user_config(places, MEETING_FILES),
        *find_template_files_in_workspace_config(workspace, MEETING_FILES),
    )
    return list(dict.fromkeys((*MEETINGS, *load_preset_config_texts(), *own)))


def unknown_configured_meeting_error(name: str, known: Iterable[str]) -> NotFound:
    """Return the error for an unknown meeting."""
    names = list(known)
    near = did_you_mean_text(name, names).strip()
    listed = f"Meetings: {', '.join(names)}."
    return NotFound(f"There is no meeting called {sanitize_line(name, 60)}.", f"{near} {listed}".strip())
