"""A model's thoughts are never part of its answer, in any format."""

from __future__ import annotations

import json

import pytest

from roundtable.core.changeset import ReplaceFile
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.replies.prose import strip_reply_thoughts
from tests.core.cases import heard, verdict

DRAFT = "```python path=calc.py\ndef double(x):\n    return 3 * x\n```"
CODE = "def double(x):\n    return 2 * x\n"
FINAL = f"```python path=calc.py\n{CODE}```"


@pytest.mark.parametrize(
    "thoughts",
    [
        f"<think>\n{DRAFT}\n</think>\n\n",
        f"\n<think>{DRAFT}\nNo, that is wrong.</think>",
        f"<THINK>\n{DRAFT}\n</THINK>\n<think>\n{DRAFT}\n</think>\n",
        f"<thinking>\n{DRAFT}\n</thinking>\n",
        f"Let me see.\n<think>\n{DRAFT}\n</think>\n",
        "<think>\n```python path=calc.py\nnever closed\n</think>\n",
        f"{DRAFT}\nNo, that is wrong.\n</think>\n\n",
        "<think>\n\n</think>\n\n",
        f" <think>\n{DRAFT}\n</thinking>\n",
    ],
)
def test_a_file_inside_a_models_thoughts_is_not_written(thoughts: str) -> None:
    reading = heard("changes", f"{thoughts}{FINAL}")
    assert reading.verdict.counts
    assert parse_reply_file_changes(reading.text).operations == (ReplaceFile("calc.py", CODE),)


@pytest.mark.parametrize(
    ("codec", "inside"),
    [
        ("changes", DRAFT),
        ("score-json", json.dumps({"consensus_score": 10, "agrees_with": [], "pending_issues": []})),
        ("agree-object-add", "AGREE: gpt"),
        ("judge-discussion", "CONSENSUS: Use REST."),
        ("proofs", json.dumps({"proofs": []})),
        ("approval", "APPROVE"),
    ],
)
def test_thoughts_without_an_end_are_not_an_answer(codec: str, inside: str) -> None:
    assert verdict(codec, inside).counts, "it would be one outside of them"
    for reply in (f"<think>\n{inside}\n", f"Well.\n<think>{inside}"):
        assert not verdict(codec, reply).counts


def test_only_the_answer_after_the_thoughts_is_read() -> None:
    block = {"consensus_score": 4, "agrees_with": [], "pending_issues": ["slow"]}
    thoughts = f"<think>\n{json.dumps({**block, 'consensus_score': 10})}\n</think>"
    reading = heard("score-json", f"{thoughts}\nNot yet.\n{json.dumps(block)}")
    assert (reading.verdict.score, reading.text) == (0.4, "Not yet.")
    assert heard("free", f"{thoughts}\nNot yet.").text == "Not yet."


@pytest.mark.parametrize(
    "reply",
    [
        "```html path=a.html\n<think>\nkept\n</think>\n```",
        "```markdown path=a.md\n# A\n\n```sh\nmake\n```\n\n<think>\nkept\n</think>\n```",
        "```html path=a.html\nkept\n</think>\n```",
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n <think>\n-1\n+2\n",
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n </think>\n-1\n+2\n",
        "> <think>\n> quoted\n\nIt writes `<think>` before it answers.",
        f"{FINAL}\n\nNow <think>\nit is done\n</think>\n",
    ],
)
def test_thought_marks_quoted_in_a_file_or_sentence_are_kept(reply: str) -> None:
    assert strip_reply_thoughts(reply) == reply


@pytest.mark.parametrize("part", ["<think>", "<think>\n</think>\n", "</think>\n", "<think>\n", "```\n</think>\n"])
def test_hostile_thoughts_are_read_without_a_delay(part: str) -> None:
    assert len(strip_reply_thoughts(part * 20_000)) <= len(part) * 20_000
