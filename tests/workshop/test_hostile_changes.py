"""A corpus of hostile changesets: each is refused with its reason, and only harmless files are written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from roundtable.core.changeset import (
    Changeset,
    CreateFile,
    DeleteFile,
    DraftFile,
    EditBlock,
    EditFile,
    Operation,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.effects import ChangeApplied
from roundtable.core.refusals import RefusalKind
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import compute_digest
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.apply_draft import write_draft_to_workspace
from roundtable.workshop.edit.draft import MAX_CHANGED_FILES, MAX_FILE_BYTES, DraftResult, apply_changeset_in_memory
from tests.repository import git, repository, write

K = RefusalKind

PATHS: dict[RefusalKind, tuple[str, ...]] = {
    K.ABSOLUTE: (
        *("/etc/passwd", "//server/share/x", "~/x.py", "~root/.bashrc", "C:\\x.py", "c:/x.py", "C:x.py"),
        *("\\\\server\\share\\x", "\\x.py", "file:///etc/passwd", "https://example.org/x.py"),
    ),
    K.TRAVERSAL: (
        *("../outside/x.py", "src/../../outside/x.py", "..", "src/..", "./src/a.py", "src/./a.py", "src//a.py"),
        *("..\\outside\\x.py", "src\\..\\..\\x.py", "src/.. /x.py", " ../x.py"),
    ),
    K.ENCODED: (
        *(
            "%2e%2e/outside/x.py",
            "..%2foutside%2fx.py",
            "%252e%252e/x.py",
            "src%5c..%5cx.py",
            "a%00.py",
            "..%c0%afx.py",
        ),
        *("a\0.py", "a\n.py", "a\r.py", "a\tb.py", "a\x1b[31m.py", "a\x7f.py", "src\\a.py"),
        *("．．/outside/x.py", "..／outside／x.py", "‥/x.py", "src∕a.py\u200b", ".g\u200cit/config", "\u202egnp.py"),
        *("a\u2028.py", "\ufeffa.py", "ﬁle.py", "\ud800.py", "cafe\u0301.py", "\u0441alc.py"),
    ),
    K.REPOSITORY: (
        *(".git/config", ".git/hooks/pre-commit", "src/.git/hooks/post-checkout", ".GIT/config", ".Git/HEAD"),
        *(".git./config", ".git /config", ".git", "git~1/config", "GIT~2/hooks/x", ".git::$INDEX_ALLOCATION/config"),
        *(".gitmodules", ".gitattributes", "src/.gitattributes", ".GITMODULES", ".lfsconfig"),
        *(".githooks/pre-commit", ".husky/pre-push", "vendor/lib/a.py"),
    ),
    K.OURS: (".roundtable/config.toml", ".roundtable", ".Roundtable/x", "src/.roundtable/x", ".roundtable./x"),
    K.SENSITIVE: (
        ".env",
        "src/.env.local",
        "deploy.pem",
        ".ssh/authorized_keys",
        "ID_RSA",
        ".npmrc",
        ".env.",
        ".aws/x",
    ),
    K.RESERVED: (
        *("con", "CON.py", "src/aux.c", "nul.txt", "COM1", "lpt9.log", "prn.tar.gz", "conin$"),
        *(
            "a.py.",
            "a.py ",
            " a.py",
            "src /a.py",
            "src./a.py",
            "ab:c.py",
            "a?.py",
            "a*.py",
            "a|b.py",
            'a"b.py',
            "<a>.py",
        ),
    ),
    K.LINK: ("out/x.py", "leak.py", "src/up/x.py", "dangling.py", "loop/x.py", "inside/a.py"),
    K.CASE: ("SRC/b.py", "src/A.py", "Src/A.py", "README.MD", "STRASSE.py", "sRc/new/b.py"),
    K.NOT_A_FILE: ("src", "pipe", "src/a.py/b.py", "", "src/", "socket"),
    K.TOO_LARGE: ("a" * 256, "a/" * 600 + "b", "ü" * 130),
    K.IGNORED: ("build/x.py", "debug.log"),
}


@pytest.fixture
def surroundings(tmp_path: Path) -> Path:
    """A folder with a workspace and, next to it, files that must not be touched."""
    write(tmp_path, {"outside/secret.py": "theirs\n", "home/.bashrc": "theirs\n"})
    shop = repository(
        tmp_path / "shop",
        {"src/a.py": "a\n", "README.md": "# Hi\n", "straße.py": "s\n", ".gitignore": "build/\n*.log\n", "b.py": "b\n"},
    )
    repository(shop / "vendor" / "lib", {"a.py": "lib\n"})
    for name, target in {
        "out": "../outside",
        "leak.py": "../outside/secret.py",
        "src/up": "..",
        "dangling.py": "../outside/new.py",
        "loop": "loop",
        "inside": "src",
    }.items():
        (shop / name).symlink_to(target)
    os.mkfifo(shop / "pipe")
    os.mknod(shop / "socket", 0o644 | stat.S_IFSOCK)
    return tmp_path


def take_snapshot(folder: Path) -> dict[str, object]:
    """Return everything below a folder: kind, mode, bytes and link target. Git may refresh its own index."""
    snapshot: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith(("shop/.git/", "journals")):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            snapshot[name] = os.readlink(path)
        else:
            snapshot[name] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
    return snapshot


def apply_harmless_rest(surroundings: Path, drafted: DraftResult) -> None:
    """Write the rest of a draft, which is `harmless.py` alone, and check that nothing else changed."""
    hooks = sorted((surroundings / "shop/.git/hooks").iterdir())
    before = take_snapshot(surroundings)
    assert [file.path for file in drafted.files] == ["harmless.py"]
    receipt = write_draft_to_workspace(surroundings / "shop", surroundings / "journals", drafted.files)
    assert isinstance(receipt, ChangeApplied)
    current = take_snapshot(surroundings)
    assert current.pop("shop/harmless.py")
    current.pop("journals", None)
    assert current == before
    assert sorted((surroundings / "shop/.git/hooks").iterdir()) == hooks
    assert git(surroundings / "shop", "config", "--local", "--list").count("hookspath") == 0


def draft_attack(surroundings: Path, *operations: Operation) -> DraftResult:
    """Compute a draft of hostile operations and one harmless one; computing it writes nothing."""
    before = take_snapshot(surroundings)
    drafted = apply_changeset_in_memory(
        Changeset((*operations, CreateFile("harmless.py", "x = 1\n"))), surroundings / "shop", Redactor().finds
    )
    assert take_snapshot(surroundings) == before
    return drafted


@pytest.mark.feature("S4.104")
@pytest.mark.parametrize("kind", PATHS)
def test_hostile_paths_are_refused_with_their_reason_in_every_operation(surroundings: Path, kind: RefusalKind) -> None:
    paths = PATHS[kind]
    evil = (
        (ReplaceFile(name, "evil\n"), CreateFile(name, "evil\n"), RenameFile("b.py", name), DeleteFile(name))
        for name in paths
    )
    drafted = draft_attack(surroundings, *(operation for operations in evil for operation in operations))
    assert [(refusal.path, refusal.kind) for refusal in drafted.refused] == [(path[:80], kind) for path in paths]
    assert all(refusal_sentence(refusal).endswith(".") for refusal in drafted.refused)
    apply_harmless_rest(surroundings, drafted)


STALE = compute_digest(b"as it was\n")

WISHES: dict[str, tuple[RefusalKind, tuple[Operation, ...]]] = {
    "a huge file": (K.TOO_LARGE, (ReplaceFile("big.py", "x" * (MAX_FILE_BYTES + 1)),)),
    "a file that grows huge by edits": (
        K.TOO_LARGE,
        (EditFile("b.py", (EditBlock("b\n", "x" * MAX_FILE_BYTES + "\n\n"),)),),
    ),
    "a binary file": (K.BINARY, (CreateFile("a.bin", "PK\0\0"),)),
    "a NUL in a source file": (K.BINARY, (ReplaceFile("src/a.py", "x = 1\0\n"),)),
    "half a surrogate pair": (K.BINARY, (ReplaceFile("src/a.py", "\udc80"),)),
    "an edit of a stale base": (K.STALE, (EditFile("b.py", (EditBlock("b\n", "c\n"),), STALE),)),
    "a replacement of a stale base": (K.STALE, (ReplaceFile("b.py", "c\n", STALE),)),
    "a deletion of a stale base": (K.STALE, (DeleteFile("b.py", STALE),)),
    "a rename of a stale base": (K.STALE, (RenameFile("b.py", "c.py", STALE),)),
    "a base of what is not there": (K.STALE, (ReplaceFile("c.py", "c\n", STALE),)),
    "a key": (K.SECRET, (CreateFile("k.py", "KEY = 'ghp_" + "a1" * 18 + "'\n"),)),
    "a private key": (
        K.SECRET,
        (CreateFile("k.txt", "-----BEGIN PRIVATE KEY-----\n" + "QUJD" * 20 + "\n-----END PRIVATE KEY-----\n"),),
    ),
}


@pytest.mark.parametrize("name", WISHES)
def test_a_hostile_operation_is_refused_with_its_reason(surroundings: Path, name: str) -> None:
    kind, operations = WISHES[name]
    drafted = draft_attack(surroundings, *operations)
    assert [refusal.kind for refusal in drafted.refused] == [kind]
    apply_harmless_rest(surroundings, drafted)


def test_colliding_names_and_files_used_as_folders_within_one_changeset_are_refused(surroundings: Path) -> None:
    drafted = draft_attack(
        surroundings,
        CreateFile("n.py", "1\n"),
        CreateFile("N.py", "2\n"),
        CreateFile("f", "1\n"),
        CreateFile("f/g.py", "2\n"),
    )
    assert [refusal.kind for refusal in drafted.refused] == [K.CASE, K.CONTRADICTION]
    assert [file.path for file in drafted.files] == ["f", "harmless.py", "n.py"]


def test_more_files_than_a_change_may_touch_are_refused(surroundings: Path) -> None:
    drafted = draft_attack(
        surroundings, *(CreateFile(f"many/{number}.py", "x\n") for number in range(MAX_CHANGED_FILES + 1))
    )
    assert {refusal.kind for refusal in drafted.refused} == {K.TOO_MANY}
    assert len(drafted.files) == MAX_CHANGED_FILES


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("### ../../outside/secret.py\n```python\nevil\n```", K.TRAVERSAL),
        ("```python path=/etc/passwd\nevil\n```", K.ABSOLUTE),
        ("```python .git/hooks/pre-commit\nevil\n```", K.REPOSITORY),
        ("**~/.bashrc**\n```bash\nevil\n```", K.ABSOLUTE),
        ("DELETE ../outside/secret.py", K.TRAVERSAL),
        ("RENAME b.py -> .git/hooks/pre-commit", K.REPOSITORY),
        ("RENAME leak.py -> mine.py", K.LINK),
        ("### leak.py\n```\n<<<<<<< SEARCH\ntheirs\n=======\nours\n>>>>>>> REPLACE\n```", K.LINK),
        ("```python\n# ../outside/secret.py\nevil\n```", K.TRAVERSAL),
        (
            "diff --git a/../outside/secret.py b/../outside/secret.py\n--- a/../outside/secret.py\n"
            "+++ b/../outside/secret.py\n@@ -1 +1 @@\n-theirs\n+ours\n",
            K.TRAVERSAL,
        ),
        (
            'diff --git "a/\\056\\056/x" "b/\\056\\056/x"\nnew file mode 100755\n--- /dev/null\n+++ "b/\\056\\056/x"\n'
            "@@ -0,0 +1 @@\n+evil\n",
            K.TRAVERSAL,
        ),
        (
            "diff --git a/b.py b/.git/config\nsimilarity index 100%\nrename from b.py\nrename to .git/config\n",
            K.REPOSITORY,
        ),
    ],
)
def test_a_hostile_reply_changes_nothing_and_the_reason_is_given(
    surroundings: Path, reply: str, kind: RefusalKind
) -> None:
    before = take_snapshot(surroundings)
    drafted = apply_changeset_in_memory(parse_reply_file_changes(reply), surroundings / "shop", Redactor().finds)
    assert (drafted.files, [refusal.kind for refusal in drafted.refused]) == ((), [kind])
    assert take_snapshot(surroundings) == before


@pytest.mark.parametrize(
    "reply",
    [
        "diff --git a/it b/it\nnew file mode 120000\n--- /dev/null\n+++ b/it\n@@ -0,0 +1 @@\n+../outside\n",
        "diff --git a/it b/it\nnew file mode 160000\nindex 0000000..1234567\n--- /dev/null\n+++ b/it\n"
        "@@ -0,0 +1 @@\n+Subproject commit 1234567\n",
    ],
)
def test_a_diff_that_creates_a_link_or_a_submodule_is_rejected(reply: str) -> None:
    with pytest.raises(UnreadableReply) as refused:
        parse_reply_file_changes(reply)
    assert (
        refused.value.message
        == "The diff turns it into a symbolic link or special file; only regular files are supported."
    )


@pytest.mark.parametrize("path", ["out/x.py", "leak.py", "dangling.py", "../outside/x.py", "pipe", "src", "loop/x.py"])
def test_a_draft_is_not_written_through_a_trap_set_after_it_was_made(surroundings: Path, path: str) -> None:
    before = take_snapshot(surroundings)
    refused = write_draft_to_workspace(
        surroundings / "shop", surroundings / "journals", (DraftFile(path, None, b"evil\n"),)
    )
    assert isinstance(refused, tuple)
    assert len(refused) == 1
    current = take_snapshot(surroundings)
    current.pop("journals", None)
    assert current == before
