"""What a meeting may have done besides talking: a closed union, recorded like asks."""

from __future__ import annotations

from roundtable.core.values import Charter, ContextItem, Decision, Value


class ReadFiles(Value, frozen=True, tag="read_files", tag_field="effect"):
    """Snapshot files of the workspace, as `path` or `path:first-last`."""

    paths: tuple[str, ...]


class OpenChild(Value, frozen=True, tag="open_child", tag_field="effect"):
    """Hold another meeting under this one and wait for its decision."""

    charter: Charter


Effect = ReadFiles | OpenChild


class FilesRead(Value, frozen=True, tag="files_read", tag_field="result"):
    """The snapshots, and what was refused with the reason."""

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}


class ChildEnded(Value, frozen=True, tag="child_ended", tag_field="result"):
    """The child session and what it decided."""

    session: str
    decision: Decision


Result = FilesRead | ChildEnded
