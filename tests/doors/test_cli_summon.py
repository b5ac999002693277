"""`summon`: changes put to the table, from the real command line on real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundtable.app.desk import Places
from roundtable.core.events import SessionOpened
from roundtable.store.sqlite import SqliteStore
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat
from tests.repository import commit, git, opened, repository, write

FILES = {
    "src/cart.py": "def add(item):\n    return item\n",
    "poetry.lock": "x = 1\n",
    ".gitignore": "*.log\nignored/\n",
}
PATCH = """From: somebody
Subject: [PATCH] Lock it

diff --git a/src/locks.py b/src/locks.py
--- a/src/locks.py
+++ b/src/locks.py
@@ -1 +1 @@
-lock = None
+lock = Lock()
diff --git a/deploy/.env b/deploy/.env
--- a/deploy/.env
+++ b/deploy/.env
@@ -1 +1 @@
-PASSWORD=rose
+PASSWORD=tulip
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    person = Cli(tmp_path)
    repository(person.work, FILES)
    return person


def voices(cli: Cli) -> list[str]:
    """Two seats that agree, their script outside the repository."""
    args = cli.script(a=council_seat("Merge it"), b=council_seat("Merge it"))
    script = cli.work.parent / "s.json"
    os.rename(cli.work / "s.json", script)
    return [part.replace("script:s.json", f"script:{script}") for part in args]


async def shown(cli: Cli) -> tuple[str, dict[str, str]]:
    """The question of the newest session, and what its seats were shown."""
    store = await SqliteStore.open(Places(cli.home, cli.home).database)
    try:
        (newest, *_) = await store.sessions(None, 1)
        opened = (await store.read(newest.id))[0].event
        assert isinstance(opened, SessionOpened)
        charter = opened.charter
        return charter.question, {item.name: (await store.fetch(item.digest)).decode() for item in charter.context}
    finally:
        await store.close()


@pytest.mark.feature("S3.31")
async def test_summon_discusses_staged_and_unstaged_changes_and_new_files(cli: Cli) -> None:
    write(
        cli.work,
        {"src/cart.py": "def add(item, count=1):\n    return item\n", "poetry.lock": "x = 2\n", "src/new.py": "x"},
    )
    git(cli.work, "add", "poetry.lock")
    result = cli.run("summon", *voices(cli))
    assert "Decision reached: Merge it" in result.stdout
    question, context = await shown(cli)
    assert question.startswith("Review these changes")
    assert "+def add(item, count=1):" in context["the changes"]
    assert "+x = 2" in context["the changes"]
    assert "Branch: main" in context["branch and recent commits"]
    assert "+++ b/src/new.py\n@@ -0,0 +1,1 @@\n+x\n" in context["the changes"]
    assert "The beginning" in context["branch and recent commits"]


async def test_new_files_are_discussed_by_their_text_and_sensitive_ones_are_listed(cli: Cli) -> None:
    write(cli.work, {"src/new.py": "first\nsecond\n", ".env.local": "A=tulip", "dist/app.js": "built", "empty.py": ""})
    write(cli.work, {"client.py": "token = 'ghp_" + "a1B2" * 9 + "'\n", ".roundtable/notes.md": "ours"})
    (cli.work / "logo.png").write_bytes(b"\x89PNG\0\xff")
    (cli.work / "link.md").symlink_to(".env.local")
    args = voices(cli)
    with opened(cli.work, (".env.local", "src/new.py", "dist/app.js")) as output:
        text = cli.run("summon", *args).stderr
    assert output == {"src/new.py"}
    assert "These sensitive files are never shown, whether or not they changed: .env.local." in text
    assert "Files with a possible secret that are not shown: client.py." in text
    _, context = await shown(cli)
    assert context["the changes"].endswith("+++ b/src/new.py\n@@ -0,0 +1,2 @@\n+first\n+second\n")
    assert "by name only:\n- empty.py\n- link.md\n- logo.png\n" in context["branch and recent commits"]
    for kept_back in ("tulip", "ghp_", "built", "ours"):
        assert kept_back not in "".join(context.values())


def test_a_new_sensitive_file_alone_is_not_discussed(cli: Cli) -> None:
    write(cli.work, {".env.local": "A=tulip"})
    output = cli.run("summon", *voices(cli), code=2).stderr
    assert (
        "There is nothing to discuss: no file was changed. These sensitive files were excluded: .env.local." in output
    )


async def test_summon_discusses_what_a_branch_changed_since_it_left_the_main_one(cli: Cli) -> None:
    git(cli.work, "checkout", "-qb", "feature/count")
    write(cli.work, {"src/cart.py": "def add(item, count):\n    return item\n"})
    commit(cli.work, "Count")
    git(cli.work, "checkout", "-q", "main")
    write(cli.work, {"src/other.py": "later on main\n"})
    commit(cli.work, "Meanwhile")
    cli.run("summon", "Is counting right?", "--branch", "feature/count", *voices(cli))
    question, context = await shown(cli)
    assert question == "Is counting right?"
    assert "+def add(item, count):" in context["the changes"]
    assert "later on main" not in context["the changes"]
    assert "compared with main" in context["branch and recent commits"]
    for name, words in {
        "nowhere": "There is no branch nowhere in this repository.",
        "main": "main has no changes",
        "--help": "--help",
    }.items():
        assert words in cli.run("summon", f"--branch={name}", *voices(cli), code=2).stderr


async def test_summon_takes_a_patch_from_a_file_or_a_pipe_without_its_sensitive_files(cli: Cli) -> None:
    (cli.work.parent / "pull.patch").write_text(PATCH)
    for args, piped in ((("--patch", "../pull.patch"), ""), (("--patch", "-"), PATCH)):
        result = cli.run("summon", *args, *voices(cli), input=piped)
        assert "Sensitive files that are not shown: deploy/.env." in result.stderr
        _, context = await shown(cli)
        assert "+lock = Lock()" in context["the changes"]
        assert "PASSWORD" not in "".join(context.values())
        assert "Sensitive files that are not shown: deploy/.env." in context["about this context"]


async def test_summon_never_opens_an_ignored_or_sensitive_file(cli: Cli) -> None:
    secret = {".env": "A=tulip", "config/secrets.yaml": "a: tulip", "ignored/a.py": "x = 'tulip'", "b.log": "tulip"}
    write(cli.work, {".env": "A=1", "config/secrets.yaml": "a: 1"})
    git(cli.work, "add", "-f", ".env", "config/secrets.yaml")
    git(cli.work, "commit", "-qm", "By mistake")
    write(cli.work, secret | {"src/cart.py": "changed\n"})
    args = voices(cli)
    with opened(cli.work, (*secret, "src/cart.py")) as result:
        finished = cli.run("summon", *args)
    assert result == {"src/cart.py"}
    assert (
        "These sensitive files are never shown, whether or not they changed: .env, config/secrets.yaml."
        in finished.stderr
    )
    _, context = await shown(cli)
    assert "+changed" in context["the changes"]
    assert "tulip" not in "".join(context.values())
    assert "ignored/a.py" not in "".join(context.values())
    assert "These sensitive files are never shown" in context["branch and recent commits"]
    git(cli.work, "rm", "-q", "--cached", ".env")
    assert "Sensitive files that are not shown: .env." in cli.run("summon", *args).stderr
    _, context = await shown(cli)
    assert "A=1" not in "".join(context.values())


async def test_the_omitted_parts_of_a_long_diff_are_listed_and_lockfiles_are_omitted_first(cli: Cli) -> None:
    write(cli.work, {"poetry.lock": "y = 2\n" * 20_000, "src/cart.py": "z = 3\n" * 100})
    result = cli.run("summon", *voices(cli))
    assert "Files shown only in part, to save room (the changes): poetry.lock." in result.stderr
    _, context = await shown(cli)
    assert context["the changes"].count("+z = 3") == 100
    assert len(context["the changes"]) < 70_000


async def test_a_change_with_a_secret_is_omitted_and_listed(cli: Cli) -> None:
    write(cli.work, {"src/cart.py": "changed\n", "src/client.py": "x\n"})
    commit(cli.work, "A client")
    write(cli.work, {"src/cart.py": "again\n", "src/client.py": "token = 'ghp_" + "a1B2" * 9 + "'\n"})
    result = cli.run("summon", *voices(cli))
    assert "Files with a possible secret that are not shown: src/client.py." in result.stderr
    _, context = await shown(cli)
    assert "+again" in context["the changes"]
    assert "ghp_" not in "".join(context.values())


def test_without_changes_summon_says_so_in_one_sentence(cli: Cli) -> None:
    for name in FILES:
        os.utime(cli.work / name, (1, 1))
    result = cli.run("summon", *voices(cli), code=2)
    help = "To discuss the changes of a branch, add `--branch NAME`."
    assert result.stderr == f"Error: There is nothing to discuss: no file was changed.\n{help}\n"
    assert "empty" in cli.run("summon", "--patch", "-", *voices(cli), code=2).stderr
    no_patch = cli.run("summon", "--patch", "src/cart.py", *voices(cli), code=2).stderr
    assert no_patch.startswith("Error: The file is not a patch: it names no changed file.\nGive a patch file")
    assert "either" in cli.run("summon", "--patch", "-", "--branch", "x", code=2).stderr


def test_outside_a_repository_summon_needs_a_patch(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    for args in ((), ("--branch", "main")):
        assert "This workspace has no git repository." in cli.run("summon", *args, *voices(cli), code=2).stderr
    (cli.work / ".git" / "HEAD").touch()
    assert f"Git cannot use the repository in {cli.work}." in cli.run("summon", *voices(cli), code=2).stderr


def test_a_new_repository_without_a_commit_can_be_discussed(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    write(cli.work, {"a.py": "first\n"})
    git(cli.work, "init", "-q")
    git(cli.work, "add", "a.py")
    assert "Decision reached" in cli.run("summon", *voices(cli)).stdout
