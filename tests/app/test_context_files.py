"""Reading one file of a workspace that may be hostile: nothing from outside is shown, and nothing hangs."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from roundtable.app.opening.context_files import ContextFileRefused, read_context_file, read_context_file_range
from roundtable.core.text.redaction import Redactor


def refusal(workspace: Path, name: str) -> str:
    with pytest.raises(ContextFileRefused) as refused:
        read_context_file(Redactor(), workspace, name)
    assert refused.value.help
    return refused.value.message


@pytest.mark.feature("S3.69")
def test_a_range_of_lines_of_a_file_that_is_too_large_can_be_shown(workspace: Path) -> None:
    (workspace / "big.log").write_text("".join(f"line {number}\n" for number in range(1, 60_001)))
    assert read_context_file_range(workspace, "big.log:10-12") == "line 10\nline 11\nline 12"
    assert "larger than 400,000 bytes" in refusal(workspace, "big.log")
    assert "larger than 400,000 bytes" in refusal(workspace, "big.log:1-60000")
    assert "contains no text" in refusal(workspace, "big.log:70000-70010")
    assert "contains no text" in refusal(workspace, "big.log:20-10")


def test_a_link_inside_the_workspace_is_followed_and_a_link_out_of_it_is_not(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("not yours")
    (workspace / "docs").mkdir()
    (workspace / "docs/a.md").write_text("ours")
    (workspace / "inner").symlink_to("docs")
    (workspace / "outer").symlink_to(tmp_path)
    (workspace / "round").symlink_to("round")
    assert read_context_file_range(workspace, "inner/a.md") == "ours"
    assert "outside the workspace" in refusal(workspace, "outer/outside.txt")
    assert "outside the workspace" in refusal(workspace, str(tmp_path / "outside.txt"))
    assert "cannot be read" in refusal(workspace, "round")


def test_a_link_to_a_sensitive_file_is_not_shown(workspace: Path) -> None:
    (workspace / ".env").write_text("A=1")
    (workspace / "notes.md").symlink_to(".env")
    assert "sensitive" in refusal(workspace, "notes.md")
    assert "sensitive" in refusal(workspace, ".ENV")


def test_anything_but_a_regular_file_is_refused_immediately(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(workspace / "socket"))
        (workspace / "zero").symlink_to("/dev/zero")
        assert "not a regular file" in refusal(workspace, "pipe")
        assert "not a regular file" in refusal(workspace, "pipe:1-5")
        assert "cannot be read" in refusal(workspace, "socket")
        assert "outside" in refusal(workspace, "zero")
    assert "is a folder" in refusal(workspace, ".")


def test_a_huge_sparse_file_is_never_read_whole(workspace: Path) -> None:
    with (workspace / "huge.bin").open("wb") as file:
        file.truncate(2 << 30)
    assert "larger than" in refusal(workspace, "huge.bin")
    assert "as text" in refusal(workspace, "huge.bin:1-2") or "larger" in refusal(workspace, "huge.bin:1-2")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", "Größe".encode("latin-1"), b"a\0b", "a\0b".encode("utf-16")])
def test_a_file_that_is_not_text_is_refused(workspace: Path, content: bytes) -> None:
    (workspace / "odd").write_bytes(content)
    assert "as text" in refusal(workspace, "odd")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5_000, "../" * 40 + "etc/hostname", "a.py:" + "9" * 5_000 + "-1", ""])
def test_an_odd_file_name_is_refused_without_raising(workspace: Path, name: str) -> None:
    assert refusal(workspace, name)


def test_a_folder_replaced_by_a_link_during_reading_never_shows_outside_files(workspace: Path, tmp_path: Path) -> None:
    """One thread keeps swapping folder and link; a read at any moment sees the inner file or none."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.txt").write_text("outside")
    (workspace / "real").mkdir()
    (workspace / "real/a.txt").write_text("inside")
    (workspace / "link").symlink_to(tmp_path / "out")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for name in ("real", "link"):
                os.rename(workspace / name, workspace / "at")
                os.rename(workspace / "at", workspace / name)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[str] = set()
    try:
        for _ in range(3_000):
            try:
                seen.add(read_context_file_range(workspace, "at/a.txt"))
            except ContextFileRefused:
                seen.add("refused")
    finally:
        done.set()
        swapping.join()
    assert "outside" not in seen
    assert "refused" in seen
