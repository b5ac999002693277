"""Replies of real models to a request for files: read into operations, or rejected with a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.changeset import (
    CreateFile,
    DeleteFile,
    EditBlock,
    EditFile,
    Operation,
    PutSymbol,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.refusals import RefusalKind
from roundtable.core.replies import find_reply_codec
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.values import Expect
from roundtable.workshop.edit.path_rules import check_write_path
from tests.core.cases import heard
from tests.repository import git, repository, write

CODE = "def add(a, b):\n    return a + b\n"
FENCED = f"```python\n{CODE}```"


def operations_of(text: str) -> tuple[Operation, ...]:
    """Return the operations of a reply."""
    return parse_reply_file_changes(text).operations


def rejection_reason(text: str) -> str:
    """Return the reason why a reply is rejected."""
    with pytest.raises(UnreadableReply) as caught:
        parse_reply_file_changes(text)
    return caught.value.message


@pytest.mark.feature("S3.43")
@pytest.mark.parametrize(
    "reply",
    [
        f"```python path=src/a.py\n{CODE}```",
        f'```python title="src/a.py"\n{CODE}```',
        f"```python src/a.py\n{CODE}```",
        f"```python:src/a.py\n{CODE}```",
        f"```src/a.py\n{CODE}```",
        f"```python # src/a.py\n{CODE}```",
        f"```python src/a.py (new)\n{CODE}```",
        f"```python path=src/a.py lines=1-2 (updated)\n{CODE}```",
        f"```python name=login file='src/a.py'\n{CODE}```",
        f"__File: src/a.py__\n{FENCED}",
        f"_src/a.py_\n{FENCED}",
        f"``` {{.python file=src/a.py}}\n{CODE}```",
        f"~~~python src/a.py\n{CODE}~~~",
        f"### src/a.py\n{FENCED}",
        f"### `src/a.py`\n\n{FENCED}",
        f"#### 1. `src/a.py` (new)\n{FENCED}",
        f"**src/a.py**\n{FENCED}",
        f"**`src/a.py`:**\n{FENCED}",
        f"**File: src/a.py**\n{FENCED}",
        f"File: src/a.py\n{FENCED}",
        f"### File 1: src/a.py\n{FENCED}",
        f"**The module (`src/a.py`):**\n{FENCED}",
        f"Test file `src/a.py`:\n\n{FENCED}",
        f"And the new test file: src/a.py\n{FENCED}",
        f"**Updated test file: `src/a.py`**\n{FENCED}",
        f"1. **Create `src/a.py`**\n\n{FENCED}",
        f"File: `./src/a.py`\n{FENCED}",
        f"src/a.py:\n{FENCED}",
        f"src/a.py\n{FENCED}\n\nThat should do it.",
        f"Here is the updated `src/a.py`:\n\n{FENCED}",
        f"I changed **src/a.py** so that it adds.\n{FENCED}",
        f"```python\n# src/a.py\n{CODE}```",
        f"```python\n# File: src/a.py\n{CODE}```",
        f"```python\n# filepath: src/a.py\n{CODE}```",
        f"```python\n# Path: src/a.py\n{CODE}```",
        f"### src/a.py\n{FENCED}\n\n```bash\npytest -q\n```",
        f"### src/a.py\n{FENCED}\n```\n1 passed\n```",
        f"### src/a.py\n```python\nsrc/a.py\n{CODE}```",
        f"```python path=src/a.py\npath=src/a.py\n{CODE}```",
        f"Here is `src/a.py`:\n```python\n# src/a.py\n{CODE}```",
        "- src/a.py\n  ```python\n  def add(a, b):\n      return a + b\n  ```",
        f"### src/a.py\n{FENCED}".replace("\n", "\r\n"),
        f"### src/a.py\n{FENCED}\n\nRun it:\n```bash\npytest src/a.py\n```\nIt prints:\n```\n1 passed\n```",
        f"### src/a.py\n{FENCED}\n\n### src/a.py\n{FENCED}",
    ],
)
def test_a_whole_file_is_read_from_every_way_of_naming_its_path(reply: str) -> None:
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE),)


def test_a_comment_names_the_file_only_if_nothing_else_does() -> None:
    (named,) = operations_of(f"### src/a.py\n```python\n# lib/b.py\n{CODE}```")
    assert named == ReplaceFile("src/a.py", f"# lib/b.py\n{CODE}")


SCRIPT = "#!/bin/sh\necho 1\n"


@pytest.mark.feature("S3.43")
@pytest.mark.parametrize("path", ["run", "script", "CODEOWNERS", "sub", "bin/tool", "__init__.py", "_config.yml"])
def test_the_value_of_a_path_key_is_always_the_path(path: str) -> None:
    assert operations_of(f"```sh path={path}\n{SCRIPT}```") == (ReplaceFile(path, SCRIPT),)


@pytest.mark.parametrize("path", ["", "../run", "https://example.com/a.py", "calc.py:stream", "x" * 1100])
def test_an_invalid_value_of_a_path_key_is_kept_and_refused_later(path: str) -> None:
    assert [operation.path for operation in operations_of(f'```sh path="{path}"\n{SCRIPT}```')] == [path]
    assert check_write_path(path) is not None


def test_underscores_in_file_and_symbol_names_are_kept() -> None:
    assert operations_of(f"### __init__.py\n{FENCED}") == (ReplaceFile("__init__.py", CODE),)
    assert operations_of(f"```python a.py::Session.__init__\n{CODE}```") == (
        PutSymbol("a.py", "Session.__init__", CODE),
    )
    assert operations_of("DELETE _config.yml\nRENAME __main__.py -> _main.py") == (
        DeleteFile("_config.yml"),
        RenameFile("__main__.py", "_main.py"),
    )


@pytest.mark.parametrize("value", ['"my notes.txt"', "'my notes.txt'", '"./my notes.txt"'])
def test_a_quoted_path_may_contain_spaces(value: str) -> None:
    assert operations_of(f"```text path={value} for=D-1\nhello\n```") == (
        ReplaceFile("my notes.txt", "hello\n", asked_by="D-1"),
    )


def test_files_with_spaces_are_deleted_and_renamed_in_quotes() -> None:
    assert operations_of('DELETE "my notes.txt"\nRENAME `old notes.txt` -> notes.txt') == (
        DeleteFile("my notes.txt"),
        RenameFile("old notes.txt", "notes.txt"),
    )


@pytest.mark.parametrize(
    "first", ["#!/bin/sh", "#!/usr/bin/env python3", "#!/opt/run.py", "# Build/test", "# https://example.com/a.py"]
)
def test_a_shebang_or_comment_in_a_command_block_is_not_a_path(first: str) -> None:
    reply = f"### src/a.py\n{FENCED}\n\nRun it so:\n\n```sh\n{first}\nmake\n```"
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE),)
    assert "does not name the file" in rejection_reason(f"```python\n{first}\n{CODE}```")


@pytest.mark.parametrize("path", ["src/main.zig", "Makefile", "docs/README", "a.py"])
def test_a_first_line_comment_that_looks_like_a_path_names_the_file(path: str) -> None:
    assert operations_of(f"```\n# {path}\nx\n```") == (ReplaceFile(path, "x\n"),)


def test_search_and_replace_blocks_are_read_as_old_and_new_lines() -> None:
    reply = (
        "### src/a.py\n```python\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n\n"
        "<<<<<<< SEARCH\nthree\n=======\n>>>>>>> REPLACE\n```"
    )
    assert operations_of(reply) == (EditFile("src/a.py", (EditBlock("one\n", "two\n"), EditBlock("three\n", ""))),)


def test_several_edit_blocks_may_follow_one_file_name() -> None:
    marked = "```\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```\n"
    assert operations_of(f"### src/a.py\n{marked.format('a', 'b')}{marked.format('c', 'd')}") == (
        EditFile("src/a.py", (EditBlock("a\n", "b\n"),)),
        EditFile("src/a.py", (EditBlock("c\n", "d\n"),)),
    )


def test_sentences_can_name_several_files_when_the_blocks_do_not() -> None:
    reply = f"Here is `src/a.py`:\n{FENCED}\nAnd this is `src/b.py`:\n{FENCED}"
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE), ReplaceFile("src/b.py", CODE))


def test_a_line_that_labels_a_path_as_a_file_names_the_next_block() -> None:
    reply = f"```python src/a.py\n{CODE}```\n\nTest file `src/test_a.py`:\n\n{FENCED}"
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE), ReplaceFile("src/test_a.py", CODE))


@pytest.mark.parametrize(
    "above",
    ["Tests: 5/5", "Test input/output:", "Test file: N/A", "The file I/O:", "Tests 3.12:", "Test `stack.push`:"],
)
def test_remarks_about_tests_and_files_are_not_file_names(above: str) -> None:
    assert operations_of(f"### src/a.py\n{FENCED}\n\n{above}\n```text\nok\n```\n") == (ReplaceFile("src/a.py", CODE),)


@pytest.mark.parametrize(
    "block",
    [
        *(f"{above}\n```bash\npython3 -m unittest\n```" for above in ("### macOS/Linux", "**Node.js:**", "## run.py")),
        *(f"{above}\n```\nx\n```" for above in ("Input/Output:", "**Before/After**", "#### Request/Response")),
    ],
)
def test_a_heading_with_a_slash_or_above_commands_is_not_a_file_name(block: str) -> None:
    assert operations_of(f"### src/a.py\n{FENCED}\n\n{block}\n") == (ReplaceFile("src/a.py", CODE),)


@pytest.mark.parametrize("above", ["### `Session.login`", "Added `try/except` around it:", "**response.data**"])
def test_code_under_a_heading_that_is_not_a_path_is_rejected(above: str) -> None:
    assert "the file it is for" in rejection_reason(f"### src/a.py\n{FENCED}\n\n{above}\n{FENCED}")


@pytest.mark.parametrize(
    "above", ["bin/tool", "### bin/tool", "**`Bin/Tool`**", "File: Bin/Tool", ".github/CODEOWNERS"]
)
def test_the_line_above_a_block_can_name_a_file_without_an_extension(above: str) -> None:
    assert [operation.path.lower() for operation in operations_of(f"{above}\n```\nx\n```")] in (
        ["bin/tool"],
        [".github/codeowners"],
    )


def test_a_hidden_file_is_recognized_with_any_extension_and_block_language() -> None:
    assert operations_of("### .env.example\n```python\nKEY=\n```") == (ReplaceFile(".env.example", "KEY=\n"),)


def test_a_symbol_is_named_after_its_file_and_two_colons() -> None:
    assert operations_of(f"```python src/a.py::Session.login\n{CODE}```") == (
        PutSymbol("src/a.py", "Session.login", CODE),
    )


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("DELETE src/old.py", DeleteFile("src/old.py")),
        ("- **Delete**: `src/old.py`", DeleteFile("src/old.py")),
        ("### Remove src/old.py", DeleteFile("src/old.py")),
        ("Delete the file src/old.py.", DeleteFile("src/old.py")),
        ("- Remove `bin/old`", DeleteFile("bin/old")),
        ("DELETE src/old.py for=D-12", DeleteFile("src/old.py", asked_by="D-12")),
        ("RENAME src/a.py -> src/b.py", RenameFile("src/a.py", "src/b.py")),
        ("Move `src/a.py` to `src/b.py`", RenameFile("src/a.py", "src/b.py")),
        ("```\nDELETE src/old.py\n```", DeleteFile("src/old.py")),
    ],
)
def test_a_separate_line_deletes_or_renames_a_file(line: str, operation: Operation) -> None:
    assert operations_of(f"First this:\n\n{line}\n\nThen nothing.") == (operation,)


@pytest.mark.parametrize(
    "line",
    [
        "> DELETE src/old.py",
        "We could delete src/old.py",
        "Remove config.value",
        "DELETE FROM users",
        "Remove it.",
        "- Remove try/except",
    ],
)
def test_a_remark_about_removing_something_deletes_no_file(line: str) -> None:
    assert operations_of(f"{line}\n\n### src/a.py\n{FENCED}") == (ReplaceFile("src/a.py", CODE),)


def test_every_operation_may_name_its_request() -> None:
    reply = f"### src/a.py for=C3\n{FENCED}\n```python src/b.py for=D-12\n{CODE}```"
    assert [operation.asked_by for operation in operations_of(reply)] == ["C3", "D-12"]
    changes = parse_reply_file_changes(reply, "claude", "D-1", ("src/*",))
    assert (changes.producer, changes.asked_by, changes.scope) == ("claude", "D-1", ("src/*",))


@pytest.mark.parametrize(
    "reply",
    [
        "### README.md\n````markdown\n# Hi\n\n```bash\nmake\n```\n\n```\nplain\n```\n````",
        "### README.md\n~~~markdown\n# Hi\n\n```bash\nmake\n```\n\n```\nplain\n```\n~~~",
    ],
)
def test_code_fences_inside_a_file_are_kept(reply: str) -> None:
    assert operations_of(reply) == (ReplaceFile("README.md", "# Hi\n\n```bash\nmake\n```\n\n```\nplain\n```\n"),)


def test_indented_code_fences_belong_to_the_file() -> None:
    text = "a: 1\ntext: |\n  Run:\n  ```\n  make\n  ```\nb: 2\n"
    assert operations_of(f"```yaml path=notes.yml\n{text}```") == (ReplaceFile("notes.yml", text),)


def test_inner_code_fences_with_a_language_are_kept_between_fences_of_equal_length() -> None:
    reply = "### README.md\n```markdown\n# Hi\n\n```bash\nmake\n```\n\nBye.\n```"
    assert operations_of(reply) == (ReplaceFile("README.md", "# Hi\n\n```bash\nmake\n```\n\nBye.\n"),)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I would add a function.", "names the file"),
        (FENCED, "does not name the file"),
        (f"### src/a.py\n{FENCED}\n\nUse it:\n{FENCED}", "does not name the file"),
        (f"```python path=src/a.py\n{CODE}```\nUse it in `main.py` so:\n{FENCED}", "does not name the file"),
        (f"```python path=src/a.py\n{CODE}```\nAnd `a.cfg`:\n```\nx\n```", "does not name the file"),
        ("In `src/a.py`:\n```python\n# Nothing to do here\n```", "does not name the file"),
        (f"Both `src/a.py` and `src/b.py` change:\n{FENCED}", "does not name the file"),
        ("```text path=my notes.txt\nhello\n```", "Quote a path"),
        (f"```python path=my calc.py\n{CODE}```", "Quote a path"),
        (f"```python path=calc.py or so\n{CODE}```", "Quote a path"),
        ('```text path="my notes.txt\nhello\n```', "Quote a path"),
        ("```text my notes.txt\nhello\n```", "Quote a path"),
        (f"### src/a.py\n```python\n{CODE}", "not closed"),
        ("### README.md\n```markdown\n# Hi\n```\nmake\n```\nBye.\n```\n", "four backticks"),
        ("```markdown path=README.md\n# Hi\n\nUsage:\n\n```\npython main.py\n```\n", "four backticks"),
        (f"```python path=a.py\n{CODE}```\nX = 1\n```", "not closed"),
        (f"### src/a.py\n```python\n{CODE}\n### src/b.py\n```python\n{CODE}```", "not closed"),
        (f"### path/to/file.py\n{FENCED}", "example"),
        ("### src/a.py\n```python\ndef f():\n    pass\n\n# ... rest unchanged\n```", "omitted with a comment"),
        ("### a.js\n```js\nfunction f() {}\n// ... existing code ...\n```", "omitted with a comment"),
        ("### a.js\n```js\nfunction f() {}\n// ...\n```", "omitted with a comment"),
        ("### a.py\n```python\nx = 1\n...rest of the file stays the same\n```", "omitted with a comment"),
        ("### a.py\n```python\nx = 1\n# The rest of the code remains the same\n```", "omitted with a comment"),
        ("### a.html\n```html\n<p>\n<!-- rest of the file unchanged -->\n```", "omitted with a comment"),
        (
            "### a.py\n```python\n<<<<<<< SEARCH\na\n=======\n# ... existing code\n>>>>>>> REPLACE\n```",
            "omitted with a comment",
        ),
        ("### a.py\n```python\n<<<<<<< SEARCH\na\n=======\nb\n```", "are malformed"),
        ("### a.py\n```python\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n```", "are malformed"),
        ("### a.py\n```python\nstray\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```", "are malformed"),
        ("a.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "outside a fenced block"),
        ("### a.py\n```diff\n-x = 1\n+x = 2\n```", "no line numbers"),
        ("```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x\n+y\n```", "has a different number of lines"),
        (
            "diff --git a/x.png b/x.png\nnew file mode 100644\nBinary files /dev/null and b/x.png differ\n",
            "binary file",
        ),
        ("diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n", "link"),
    ],
)
def test_an_ambiguous_reply_is_rejected_with_the_reason(reply: str, reason: str) -> None:
    assert reason in rejection_reason(reply)
    reading = heard("changes", reply)
    assert not reading.verdict.counts
    assert reason in reading.why


@pytest.mark.parametrize(
    ("path", "remark"),
    [
        *(
            ("a.py", remark)
            for remark in (
                *("# Your existing code here", "# existing code", "# All other functions stay as they are"),
                *("# [unchanged]", "# (b and c unchanged)", "# b() and c() remain unchanged", "# rest stays the same"),
                *("    # existing methods", "    ...  # unchanged", "# (keep existing imports)"),
            )
        ),
        ("a.html", "<!-- existing code -->"),
        *((f"a.{ending}", "  ...") for ending in ("json", "html", "css", "toml")),
        ("a.json", "  ...,"),
    ],
)
def test_omissions_in_everyday_words_are_recognized(path: str, remark: str) -> None:
    assert "omitted with a comment" in rejection_reason(f"### {path}\n```x\none\n{remark}\n```")


@pytest.mark.parametrize(
    "remark",
    [
        *("# other functions", "# Existing files are kept", "# the same as they are", "# rest of us", "# remaining"),
        *("...  # type: ignore", "...  # pragma: no cover", "# the value is left unchanged", "# other imports"),
        *("# existing_code()", "x = 1  # unchanged", "# here the rest goes to the server"),
        *("# the rest of the logic is in utils.py", "# rest of the fields are optional", "...  # same as above"),
        *("# All other functions are the same length", "// other fields are omitted when null"),
    ],
)
def test_ordinary_comments_are_not_taken_for_omissions(remark: str) -> None:
    assert operations_of(f"### a.py\n```python\n{remark}\n```") == (ReplaceFile("a.py", f"{remark}\n"),)


def test_an_ellipsis_that_is_python_code_is_not_an_omission() -> None:
    stub = "class A:\n    def f(self) -> int: ...\n    def g(self) -> int:\n        ...\n# see the rest of us\n"
    assert operations_of(f"### a.pyi\n```python\n{stub}```") == (ReplaceFile("a.pyi", stub),)


@pytest.mark.parametrize("ending", ["js", "tsx", "vue"])
@pytest.mark.parametrize(
    "line",
    [
        *("  ...rest", "    ...previous,", "  ...existing.headers,", "(...others) => {", "[...rest]"),
        *("  ...(existing ?? {}),", "  ...rest as Props,"),
    ],
)
def test_a_spread_operator_is_not_an_omission(ending: str, line: str) -> None:
    text = f"one\n{line}\n"
    assert operations_of(f"### a.{ending}\n```x\n{text}```") == (ReplaceFile(f"a.{ending}", text),)


@pytest.mark.parametrize("line", ["  ...rest of the code", "// ...rest", "... existing", "...existing code..."])
def test_an_ellipsis_before_words_is_an_omission_in_javascript_too(line: str) -> None:
    assert "omitted with a comment" in rejection_reason(f"### a.ts\n```x\none\n{line}\n```")


def test_an_unnamed_block_belongs_to_the_only_requested_file() -> None:
    reading = heard("changes", f"Here you are:\n{FENCED}\n", ["src/a.py"])
    assert reading.verdict.counts
    assert operations_of(reading.text) == (ReplaceFile("src/a.py", CODE),)
    assert not heard("changes", FENCED, ["src/a.py", "src/b.py"]).verdict.counts
    assert not heard("changes", f"{FENCED}\n{FENCED}", ["src/a.py"]).verdict.counts
    assert operations_of(heard("changes", f"{FENCED}\n```python\n```", ["src/a.py"]).text) == (
        ReplaceFile("src/a.py", CODE),
    )


def test_the_format_instruction_is_short_and_its_example_can_be_read() -> None:
    instructions = find_reply_codec("changes").text_format(Expect("changes", ("src/a.py",)))
    assert len(instructions) < 800
    example = instructions.replace("the complete new file, every line of it\n", CODE).split("Close each")[0]
    assert operations_of(example) == (ReplaceFile("src/a.py", CODE),)
    assert "<<<<" not in instructions


def test_an_empty_block_named_only_by_a_sentence_is_reported_and_not_dropped() -> None:
    reply = f"```python src/a.py\n{CODE}```\n\nAnd `pkg/__init__.py` stays empty:\n```python\n```"
    assert "does not name the file" in rejection_reason(reply)


def test_a_reply_that_copies_the_example_is_rejected() -> None:
    reply = "```python src/a.py\nThe complete new file, every line of it\n```"
    assert "repeats the example" in rejection_reason(reply)


def test_a_file_below_a_copied_example_line_is_read_without_that_line() -> None:
    unfilled = "the complete new file, every line of it\n"
    assert operations_of(f"```python path=src/a.py\n{unfilled}{CODE}```") == (ReplaceFile("src/a.py", CODE),)
    assert operations_of(f"```python\npath=src/a.py\n{unfilled}\n{CODE}```") == (ReplaceFile("src/a.py", CODE),)
    quoted = f"{CODE}{unfilled}"
    assert operations_of(f"```python path=src/a.py\n{quoted}```") == (ReplaceFile("src/a.py", quoted),)


@pytest.mark.parametrize(
    ("reply", "hollow"),
    [
        ("```python\nsrc/a.py\n```", True),
        ("src/a.py", True),
        ("```python\nsrc/a.py\n```\nI cannot.", False),
        (f"```python\nsrc/a.py\n```\n```python src/b.py\n{CODE}```", False),
    ],
)
def test_a_reply_with_only_file_names_is_hollow(reply: str, hollow: bool) -> None:
    reading = heard("changes", reply)
    assert not reading.verdict.counts
    assert reading.hollow is hollow


def test_a_code_fence_opened_twice_counts_once() -> None:
    reply = f"```python src/a.py\n```python\n{CODE}```\n\n```python tests/test_a.py\n```python\nimport a\n```\n"
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE), ReplaceFile("tests/test_a.py", "import a\n"))
    example = f"### README.md\n```python\n```python\n{CODE}```\n```\n"
    assert operations_of(example) == (ReplaceFile("README.md", f"```python\n{CODE}```\n"),)
    nested = f"````markdown notes.md\n```markdown\n{CODE}```\n````\n"
    assert operations_of(nested) == (ReplaceFile("notes.md", f"```markdown\n{CODE}```\n"),)


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\nsrc/a.py\n{CODE}```",
        f"```python\npath=src/a.py\n{CODE}```",
        f"```python\n# path=src/a.py\n{CODE}```",
        f"```python\nsrc/a.py\n```\n```python\n{CODE}```",
        f"```python\npath=src/a.py\n```\n\n```python\n{CODE}```",
        f"```python\nsrc/a.py\n```python\n{CODE}```",
        f"```python src/a.py\n{CODE}```\n```",
        f"```python src/a.py\n{CODE}```\n\n```\n\n",
        f"### src/a.py\n{FENCED}\n```",
        f"```python src/a.py\n{CODE}```\n```python\n```",
        f"```python\n```python\n# src/a.py\n{CODE}```",
        f"```python\n```python\n# src/a.py\n{CODE}```\n```",
    ],
)
def test_a_file_name_inside_the_block_and_an_extra_fence_are_understood(reply: str) -> None:
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE),)


@pytest.mark.parametrize("name", ["src/a.py", "path=src/a.py"])
@pytest.mark.parametrize(
    "more",
    [
        "",
        f"```python src/b.py\n{CODE}```",
        f"```python\n# src/b.py\n{CODE}```",
        "```bash\npytest -q\n```",
        f"And then:\n{FENCED}",
        "```python\n```",
    ],
)
def test_a_block_that_contains_only_a_file_name_is_rejected(name: str, more: str) -> None:
    assert "The block for src/a.py contains only the file's name" in rejection_reason(
        f"```python\n{name}\n```\n\n{more}"
    )


@pytest.mark.parametrize(
    ("path", "language", "text"),
    [
        ("tests/__init__.py", "python", "# tests/__init__.py\n"),
        (".gitignore", "gitignore", "secrets.json\n"),
        (".gitignore", "gitignore", "config.json\n*.log\n"),
        ("files.txt", "text", "src/a.py\n"),
        ("files.py", "python", "src/a.py\nsrc/b.py\n"),
        ("docs/index.md", "markdown", "# index.md\n"),
    ],
)
def test_a_file_named_by_a_heading_keeps_its_first_line(path: str, language: str, text: str) -> None:
    other = f"```python path=src/b.py\n{CODE}```"
    assert operations_of(f"### {path}\n```{language}\n{text}```\n\n{other}") == (
        ReplaceFile(path, text),
        ReplaceFile("src/b.py", CODE),
    )


def test_a_second_path_comment_in_a_block_begins_another_file() -> None:
    two = f"```python\n# kit/money.py\n{CODE}\n\n# kit/money_test.py\nimport money\n\n# a remark\nx = 1\n```"
    assert operations_of(two) == (
        ReplaceFile("kit/money.py", CODE),
        ReplaceFile("kit/money_test.py", "import money\n\n# a remark\nx = 1\n"),
    )
    one = f"{CODE}\n# kit/money_test.py\nimport money\n"
    assert operations_of(f"```python path=kit/money.py\n{one}```") == (ReplaceFile("kit/money.py", one),)
    inner = f"{CODE}\n    # kit/money_test.py\n# kit/other.py\n"
    assert operations_of(f"```python\n# kit/money.py\n{inner}```") == (ReplaceFile("kit/money.py", inner),)


def test_an_empty_file_named_by_a_comment_takes_nothing_from_the_next_block() -> None:
    assert operations_of(f"```python\n# tests/__init__.py\n```\n\n```python\n# src/a.py\n{CODE}```") == (
        ReplaceFile("tests/__init__.py", ""),
        ReplaceFile("src/a.py", CODE),
    )


@pytest.mark.parametrize(
    "block",
    [
        *("gitignore\nconfig.json\n*.log", "tree\nsrc/a.py\nsrc/b.py", "python\nsrc/a.py\nsrc/b.py"),
        *("python\nsrc/a.py\n\nsrc/b.py", "python\nsrc/a.py\nsrc/tests/", "python\ncalc.py\n  tests/test_calc.py"),
        "python DELETE a.py\n",
    ],
)
def test_lists_of_files_and_commands_after_a_fence_are_rejected(block: str) -> None:
    rejection_reason(f"```python path=src/b.py\n{CODE}```\n\n```{block}\n```")


@pytest.mark.parametrize("above", ["### Makefile", "File: `notes.txt`"])
def test_a_reply_that_ends_with_an_open_file_is_incomplete(above: str) -> None:
    assert "not closed" in rejection_reason(f"```python src/a.py\n{CODE}```\n\n{above}\n```\n")


def test_an_unclosed_block_ends_where_the_next_file_begins() -> None:
    reply = f"```python src/a.py\n{CODE}```python tests/test_a.py\nimport a\n```\nThat is all."
    assert operations_of(reply) == (ReplaceFile("src/a.py", CODE), ReplaceFile("tests/test_a.py", "import a\n"))


def test_a_long_file_can_be_changed_by_its_changed_parts_alone() -> None:
    instructions = find_reply_codec("changes-in-parts").text_format(Expect("changes-in-parts"))
    example = instructions.partition("Copy the old lines exactly:")[2].replace("path/to/file.py", "src/a.py")
    assert operations_of(example) == (EditFile("src/a.py", (EditBlock("old lines\n", "new lines\n"),)),)


def test_the_documentation_describes_the_form_and_every_kind_of_refusal() -> None:
    page = (Path(__file__).parents[2] / "docs" / "changes.md").read_text()
    example = "\n".join(line[4:] for line in page.split("\n") if line.startswith("    "))
    assert operations_of(example) == (ReplaceFile("src/greeting.py", 'def greet(name):\n    return f"Hello {name}"\n'),)
    assert [kind for kind in RefusalKind if f"`{kind}`" not in page] == []


@pytest.mark.parametrize("around", ["{}", "Here it is:\n\n{}", "Here it is:\n```diff\n{}```\nDone."])
def test_a_diff_in_a_reply_is_read_as_its_operations(around: str) -> None:
    diff = (
        "diff --git a/src/a.py b/src/a.py\nindex 1..2 100644\n--- a/src/a.py\n+++ b/src/a.py\n"
        "@@ -4,3 +4,3 @@ def f():\n one\n-two\n+2\n three\n"
    )
    (edit,) = operations_of(around.format(diff))
    assert operations_of(around.format(diff[diff.index("---") :])) == (edit,)
    assert edit == EditFile("src/a.py", (EditBlock("one\ntwo\nthree\n", "one\n2\nthree\n", 4),))


def test_hunks_under_a_named_file_need_no_diff_header() -> None:
    (edit,) = operations_of("### a.py\n```diff\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n```")
    assert edit == EditFile("a.py", (EditBlock("x\nz\n", "y\nz\n", 1),))


def test_a_git_diff_of_a_worktree_is_read_exactly(tmp_path: Path) -> None:
    folder = repository(
        tmp_path / "shop",
        {"kept.py": "a\nb\nc\n", "old name.py": "x\n" * 20, "gone.py": "1\n2", "run.sh": "echo\n", "tail.txt": "last"},
    )
    write(folder, {"new/ünï.py": "héllo\n", "kept.py": "a\nB\nc\n", "tail.txt": "last\n", "empty.py": ""})
    git(folder, "mv", "old name.py", "new name.py")
    git(folder, "rm", "-q", "gone.py")
    (folder / "run.sh").chmod(0o755)
    git(folder, "add", "-A")
    operations = {operation.path: operation for operation in operations_of(git(folder, "diff", "--cached", "-M"))}
    assert operations["new/ünï.py"] == CreateFile("new/ünï.py", "héllo\n")
    assert operations["empty.py"] == CreateFile("empty.py", "")
    assert operations["kept.py"] == EditFile("kept.py", (EditBlock("a\nb\nc\n", "a\nB\nc\n", 1),))
    assert operations["tail.txt"] == EditFile("tail.txt", (EditBlock("last", "last\n", 1),))
    assert operations["run.sh"] == EditFile("run.sh", (), executable=True)
    assert operations["old name.py"] == RenameFile("old name.py", "new name.py")
    assert isinstance(operations["gone.py"], DeleteFile)
    assert operations["gone.py"].base
    assert len(operations) == 7


MARKS = (
    *("```", "````", "~~~", "```python a.py", "### a.py", "x", "", "DELETE a.py"),
    *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"),
    *("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "+y", "-x"),
)


@given(st.lists(st.sampled_from(MARKS)))
def test_any_reply_is_either_read_or_rejected(lines: list[str]) -> None:
    reading = heard("changes", "\n".join(lines))
    assert reading.verdict.counts or reading.why


def test_reading_a_reply_takes_linear_time() -> None:
    program = (
        "from roundtable.core.replies.file_changes import parse_reply_file_changes\n"
        "for text in (' ' * 200000, '`' * 200000, '### a.py\\n' + '# ' * 100000, '<<<<<<< SEARCH\\n' * 20000,\n"
        "             '```a.py\\n' + '<<<<<<< SEARCH\\n' * 20000 + '```', '- ' * 100000, '**' * 100000):\n"
        "    try: parse_reply_file_changes(text)\n"
        "    except Exception as error: assert type(error).__name__ == 'UnreadableReply', error\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_diff_in_a_reply_keeps_the_line_endings_of_the_files() -> None:
    diff = (
        "diff --git a/a.bat b/a.bat\n--- a/a.bat\n+++ b/a.bat\n@@ -1,2 +1,2 @@\n echo 1\r\n-echo 2\r\n+echo 3\n"
        "diff --git a/b.bat b/b.bat\nnew file mode 100644\n--- /dev/null\n+++ b/b.bat\n@@ -0,0 +1 @@\n+echo\r\n"
    )
    reply = f"> I did it.\r\n\n```diff\n{diff}```"
    edit, new = operations_of(reply)
    assert edit == EditFile("a.bat", (EditBlock("echo 1\r\necho 2\r\n", "echo 1\r\necho 3\n", 1),))
    assert new == CreateFile("b.bat", "echo\r\n")


def test_a_reply_with_windows_line_endings_is_read_like_any_other() -> None:
    diff = "```diff\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n```\n"
    reply = f"### b.py\n{FENCED}\n\n{diff}"
    assert operations_of(reply.replace("\n", "\r\n")) == operations_of(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "```python a.py\n" + "<<<<<<< SEARCH\n=======\n" * 5_000 + "```",
        "```" + " " * 200_000 + "x\nhello\n```",
        "DELETE" + "*" * 200_000 + "!\n" + FENCED,
        "a" + " " * 200_000 + "b\n" + FENCED,
        "```\n" + "#" * 200_000 + " \n```",
    ],
)
def test_a_hostile_reply_is_refused_without_a_delay(reply: str) -> None:
    assert rejection_reason(reply)


@pytest.mark.parametrize(
    "above",
    [
        "### 1. `src/a.py` (fixed the bug)",
        "**`src/a.py`**, a helper:",
        "#### 1) `src/a.py`: mend it",
        "Here is the updated `src/a.py`:",
    ],
)
def test_a_line_that_introduces_a_file_names_the_next_block(above: str) -> None:
    assert operations_of(f"{above}\n\n{FENCED}\n\n### src/b.py\n\n{FENCED}") == (
        ReplaceFile("src/a.py", CODE),
        ReplaceFile("src/b.py", CODE),
    )


def test_a_sentence_can_name_the_file_of_the_edits_below_it() -> None:
    edit = "```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```"
    assert operations_of(f"In `src/a.py`, this:\n\n{edit}\n\n```python path=b.py\n{CODE}```") == (
        EditFile("src/a.py", (EditBlock("x = 1\n", "x = 2\n"),)),
        ReplaceFile("b.py", CODE),
    )


@pytest.mark.parametrize("indent", [" ", "   "])
def test_a_closing_fence_may_be_slightly_indented(indent: str) -> None:
    reply = f"```python path=a.py\n{CODE}{indent}```\n\nNow the other:\n\n```python path=b.py\n{CODE}```"
    assert operations_of(reply) == (ReplaceFile("a.py", CODE), ReplaceFile("b.py", CODE))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Dockerfile", "FROM x\n\n# requirements.txt\nCOPY requirements.txt .\n"),
        ("src/index.ts", "export * from './a'\n\n// utils.ts\nexport * from './utils'\n"),
        ("docs/a.md", "Words.\n\n## src/a.py\nMore words.\n"),
    ],
)
def test_a_file_name_inside_another_file_begins_no_new_file(path: str, text: str) -> None:
    assert operations_of(f"```\n# {path}\n{text}```") == (ReplaceFile(path, text),)
    assert operations_of(f"```x path={path}\n# {path}\n{text}```") == (ReplaceFile(path, f"# {path}\n{text}"),)
