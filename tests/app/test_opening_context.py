"""What the seats see when a meeting opens: files chosen by rules within one limit, and a note on what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_window import ContextRoom
from roundtable.app.opening.opening_context import ContextGatherer, OpeningContext
from roundtable.app.settings.config import trust_workspace
from roundtable.app.settings.places import Places
from roundtable.core.faults import UsageError
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Charter, Seat
from roundtable.workshop.repo.git import open_git
from tests.repository import commit, git, opened, repository, write

IGNORE = (".git", "node_modules", "dist")
ROOM = ContextRoom(40_000, 20_000)
FILES = {
    "README.md": "A shop.\n",
    "src/auth/token.py": "def refresh(token): ...\n",
    "src/cart.py": "def add(item): ...\n",
    ".gitignore": "*.log\nbuild/\n",
}
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----"
SCRIPTED = (Seat("a", ("script:s.json",)), Seat("b", ("script:s.json",)))


async def gather(
    workspace: Path, question: str = "How to refactor auth?", *, room: ContextRoom = ROOM, **agenda: object
) -> OpeningContext:
    return await ContextGatherer(Redactor(), workspace, IGNORE).gather(
        Agenda(question, **agenda),  # pyright: ignore[reportArgumentType]
        room,
        project=True,
    )


def text_of(gathered: OpeningContext) -> str:
    return "\n".join(f"{name}\n{data.decode()}" for name, data in gathered.shown.items())


@pytest.mark.feature("S3.36", "S3.37")
async def test_a_meeting_is_shown_the_branch_the_recent_commits_the_diff_and_the_files(workspace: Path) -> None:
    repository(workspace, FILES, "Open the shop")
    write(workspace, {"src/cart.py": "def add(item, count): ...\n"})
    commit(workspace, "Count what is added")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "Use ghp_" + "a1B2" * 9)
    write(workspace, {"src/auth/token.py": "def refresh(token, now): ...\n"})
    gathered = await gather(workspace)
    project = gathered.shown["the project"].decode()
    assert "Branch: main" in project
    assert "Use [redacted:github-token]" in project
    assert project.index("Count what is added") < project.index("Open the shop")
    assert "+def refresh(token, now): ..." in gathered.shown["uncommitted changes"].decode()
    assert gathered.shown["src/auth/token.py"] == b"def refresh(token, now): ...\n"
    assert gathered.notices == ("4 of 4 files of the project are shown.",)


async def test_files_that_a_person_names_are_shown_instead_of_the_project(workspace: Path) -> None:
    repository(workspace, FILES)
    assert list((await gather(workspace, files=("src/cart.py:1-1",))).shown) == ["src/cart.py:1-1"]
    chosen = await gather(workspace, folders=("src",))
    assert {"src/auth/token.py", "src/cart.py"} == set(chosen.shown) - {"about this context"}
    assert chosen.notices == ("2 of 2 files of src are shown.",)
    with pytest.raises(UsageError, match="outside the workspace"):
        await gather(workspace, folders=("..",))
    (workspace / "empty").mkdir()
    with pytest.raises(UsageError, match="No file in empty can be shown"):
        await gather(workspace, folders=("empty",))
    for absent in ("nodir", "README.md"):
        with pytest.raises(UsageError, match=f"There is no folder {absent} in this workspace"):
            await gather(workspace, folders=(absent,))


@pytest.mark.feature("S3.83")
async def test_git_node_modules_and_dist_are_ignored_and_the_config_may_ignore_more(
    places: Places, workspace: Path
) -> None:
    repository(workspace, FILES)
    write(
        workspace, {"node_modules/x/index.js": "x", "dist/app.js": "x", "docs/old/a.md": "x", "s.json": '{"turns": []}'}
    )
    commit(workspace, "All of it, by mistake")
    listed = {*(await gather(workspace)).shown}
    assert not any("node_modules" in name or "dist" in name for name in listed)
    assert "docs/old/a.md" in listed
    write(workspace, {".roundtable/config.toml": '[context]\nignore = ["docs/*", "*.py"]\n'})
    for trusted in (False, True):
        if trusted:
            trust_workspace(places, workspace)
        async with await Roundtable.open(workspace, places) as desk:
            charter, _ = await desk.meetings.draft(Agenda("What now?", SCRIPTED, meeting="knights"))
        shown = {item.name for item in charter.context}
        assert ("dist/app.js" in shown) == trusted, "without trust, a workspace only adds to what is ignored"
        assert not any(name.startswith("docs/") or name.endswith(".py") or ".roundtable" in name for name in shown)


@pytest.mark.parametrize("with_repository", [True, False])
async def test_ignored_files_are_never_shown_with_or_without_a_repository(
    workspace: Path, with_repository: bool
) -> None:
    if with_repository:
        repository(workspace, FILES)
    write(
        workspace, FILES | {"a.log": "x", "build/b.py": "x", "sub/.gitignore": "*.tmp\n!keep.tmp\n", "sub/c.tmp": "x"}
    )
    write(workspace, {"sub/keep.tmp": "kept"})
    shown = {*(await gather(workspace)).shown}
    assert {"README.md", "src/cart.py", "sub/keep.tmp"} <= shown
    assert not shown & {"a.log", "build/b.py", "sub/c.tmp"}


async def test_files_that_may_not_be_shown_are_skipped_and_named(workspace: Path, tmp_path: Path) -> None:
    repository(workspace, FILES)
    (tmp_path / "outside.md").write_text("not yours")
    write(workspace, {".env": "A=1", "notes.md": "token: ghp_" + "a1B2" * 9, "pipe.txt": "", "logo.bin": "\0\0"})
    (workspace / "pipe.txt").unlink()
    os.mkfifo(workspace / "pipe.txt")
    (workspace / "link.md").symlink_to(tmp_path / "outside.md")
    git(workspace, "add", "-f", ".env")
    gathered = await gather(workspace)
    told = text_of(gathered)
    assert "not yours" not in told
    assert "A=1" not in told
    assert "ghp_" not in told
    assert "Sensitive files that are not shown: .env." in gathered.notices
    assert "Files with a possible secret that are not shown: notes.md." in gathered.notices
    assert "Sensitive files that are not shown: .env." in gathered.shown["about this context"].decode()


async def test_ignored_and_sensitive_files_are_not_even_opened(workspace: Path) -> None:
    repository(workspace, {**FILES, ".env": "A=1"})
    closed = {"a.log": "x", "build/b.py": "x", ".env": "A=2", "dist/c.js": "x", "node_modules/d.js": "x"}
    write(workspace, closed)
    with opened(workspace, (*closed, "src/cart.py")) as seen:
        await gather(workspace)
    assert seen == {"src/cart.py"}


async def test_the_least_relevant_files_are_left_out_and_counted(workspace: Path) -> None:
    many = {f"src/part{number:02}.py": f"x = {number}\n" * 200 for number in range(40)}
    repository(workspace, {**many, "src/auth.py": "def login(): ...\n" * 20, "package-lock.json": "{}" * 50})
    gathered = await gather(workspace, "Is auth safe?", room=ContextRoom(8_000, 4_000))
    shown = [name for name in gathered.shown if name.startswith("src/")]
    assert shown[0] == "src/auth.py"
    assert "package-lock.json" not in gathered.shown
    (notice,) = gathered.notices
    assert notice == f"{len(shown)} of 42 files of the project are shown; {42 - len(shown)} left out to save room."
    assert notice in gathered.shown["about this context"].decode()
    assert sum(map(len, gathered.shown.values())) < 9_000


async def test_the_smallest_context_window_limits_what_all_seats_see(places: Places, workspace: Path) -> None:
    repository(workspace, {f"part{number}.py": "x = 1\n" * 300 for number in range(30)} | {"s.json": '{"turns": []}'})
    wide = (Seat("a", ("script:s.json",)), Seat("b", ("anthropic:claude-sonnet-4-6",)))
    narrow = (*wide, Seat("c", ("script:s.json", "embedded:smollm2-135m")))

    async with await Roundtable.open(workspace, places) as desk:

        async def size(seats: tuple[Seat, ...]) -> int:
            charter, _ = await desk.meetings.draft(Agenda("What is this?", seats, meeting="knights"))
            return sum(item.size for item in charter.context)

        assert await size(wide) > 20_000
        assert await size(narrow) < 5_000
        (workspace / "long.md").write_text("word " * 4_000)
        with pytest.raises(UsageError, match=r"about 5,000 tokens, but embedded:smollm2-135m has room for only"):
            await desk.meetings.draft(Agenda("What is this?", narrow, files=("long.md",)))


async def test_seats_see_which_checks_they_may_request(places: Places, workspace: Path) -> None:
    write(workspace, {"s.json": '{"turns": []}'})
    places.config.mkdir(parents=True)
    places.user_config.write_text('[checks]\ntests = ["pytest", "-q"]\nlint = ["ruff", "check"]\n')
    async with await Roundtable.open(workspace, places) as desk:
        charter, texts = await desk.meetings.draft(Agenda("What now?", SCRIPTED, meeting="knights"))
        _, of_a_build = await desk.meetings.draft(Agenda("Do it.", SCRIPTED, meeting="build"))
    assert not any(b"Checks you may ask for" in prompt for prompt in of_a_build), "who writes asks for none"
    about = next(text for item, text in zip(charter.context, texts, strict=False) if item.name == "about this context")
    assert b"You may ask for these checks by name, and for no others: tests, lint." in about


async def test_gathering_context_does_not_change_the_workspace(workspace: Path) -> None:
    repository(workspace, FILES)
    for name in FILES:
        os.utime(workspace / name, (1, 1))  # git would like to write down that these are still the same

    def state() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(workspace.rglob("*"))}

    before = state()
    await gather(workspace)
    assert state() == before


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("core.fsmonitor", "{program}"),
        ("diff.external", "{program}"),
        ("diff.evil.command", "{program}"),
        ("diff.evil.textconv", "{program}"),
        ("filter.evil.clean", "{program}"),
        ("filter.evil.process", "{program}"),
        ("filter.a=b.clean", "{program}"),
        ("core.pager", "{program}"),
        ("gpg.program", "{program}"),
        ("core.hooksPath", "."),
    ],
)
async def test_no_program_named_by_a_repository_is_run(workspace: Path, setting: str, value: str) -> None:
    mark = workspace / "ran"
    repository(workspace, {**FILES, ".gitattributes": "*.py diff=evil filter=evil\n*.md filter=a=b\n"})
    program = workspace / "evil"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho '{SIGNATURE}'\n")
    program.chmod(0o755)
    git(workspace, "-c", f"gpg.program={program}", "commit", "-qS", "--allow-empty", "-m", "Signed")
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    git(workspace, "config", setting, value.format(program=program))
    git(workspace, "config", "log.showSignature", "true")
    write(workspace, {"src/cart.py": "changed\n", "README.md": "changed\n"})
    gathered = await gather(workspace)
    assert b"+changed" in gathered.shown["uncommitted changes"]
    assert not mark.exists()


def test_a_git_folder_that_points_elsewhere_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other", {"private.txt": "of another project\n"})
    (workspace / ".git").rmdir()
    (workspace / ".git").write_text(f"gitdir: {other}/.git\n")
    with open_git(workspace) as asked:
        assert not asked.has_repository
    (workspace / ".git").unlink()
    (workspace / ".git").symlink_to(other / ".git")
    with open_git(workspace) as asked:
        assert not asked.has_repository
    git(other, "config", "core.worktree", str(other))
    with open_git(workspace) as asked:
        assert not asked.has_repository
    (workspace / ".git").unlink()
    repository(workspace, FILES)
    git(workspace, "config", "core.worktree", str(other))
    with open_git(workspace) as asked:
        assert not asked.has_repository


def test_a_linked_worktree_and_a_submodule_are_read_as_repositories(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", FILES)
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(main), "inner")
    for folder in (main, tmp_path / "linked", main / "inner"):
        with open_git(folder) as asked:
            assert asked.has_repository
            assert "src/cart.py" in asked.list_files()


async def test_without_git_the_project_is_not_shown_and_the_reason_is_given(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, FILES)
    monkeypatch.setenv("PATH", str(tmp_path))
    gathered = await gather(workspace)
    assert list(gathered.shown) == ["about this context"]
    assert "Git is not installed" in gathered.notices[0]


def test_a_charter_of_an_older_record_has_no_context_report() -> None:
    assert Charter("Q", SCRIPTED, "council", 1).notices == ()
