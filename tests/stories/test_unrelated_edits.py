"""Unrelated edits of a candidate are reverted, with a notice, only where they alone break a check."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.repository import git, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import SLUG, SLUG_TEST, files_reply
from tests.stories.test_build import YES, last_trial
from tests.stories.test_changed_tests import writer_turns

KEPT = 'def shorten(text):\n    return text[:3] + "…"\n\n\n'
SHORTEN_TEST = """import unittest

from slug import shorten


class ShortenTest(unittest.TestCase):
    def test_a_cut_text_says_so(self):
        self.assertEqual(shorten("story"), "sto…")
"""
EDITOR = "class Editor:\n    def __init__(self):\n        self.text = ''\n\n"
LENGTH = "    def __len__(self):\n        return len(self.text)\n"
EDITOR_TEST = """import unittest

from editor import Editor


class EditorTest(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(Editor()), 0)
"""
ADD = "Add a function slugify(text) to slug.py: slugify(' Hello World ') is 'hello-world'."


def commit_tested_function(code: Path) -> None:
    """Commit a module with a tested function and without the requested one."""
    git(code, "rm", "-q", "test_slug.py")
    write(code, {"slug.py": KEPT, "test_shorten.py": SHORTEN_TEST})
    git(code, "add", ".")
    git(code, "commit", "-qm", "Only shorten")


async def test_an_accidental_edit_of_another_function_is_reverted(bench: Roundtable, code: Path) -> None:
    commit_tested_function(code)
    meeting = DeskMeeting(bench, claude=writer_turns(slug=KEPT.replace("…", "...") + SLUG))
    decision = await meeting.hold("build", ADD, answers=YES)
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "applied")
    assert (
        "Edits reverted, because they broke checks and the task does not ask for them: shorten in slug.py."
        in decision_sentence(decision)
    )
    written_text = (code / "slug.py").read_text()
    assert KEPT.strip() in written_text
    assert SLUG.strip() in written_text
    (results,) = last_trial(await bench.sessions.get(meeting.session)).candidates
    assert (results.put_back, results.passed) == (("shorten in slug.py",), True)
    question = (await bench.sessions.get(meeting.session)).gates["approve"].question
    reverted = "Edits reverted, because they broke checks and the task does not ask for them: shorten in slug.py."
    assert reverted in question
    assert not any("mend" in call.call for call in meeting.voices.calls), "nobody had to be asked again"


async def test_an_unrelated_edit_that_breaks_nothing_is_kept(bench: Roundtable, code: Path) -> None:
    commit_tested_function(code)
    other = KEPT.replace("text[:3]", "text[0:3]") + SLUG
    meeting = DeskMeeting(bench, claude=writer_turns(slug=other))
    decision = await meeting.hold("build", ADD, answers=YES)
    assert decision.next_step == "applied"
    assert (code / "slug.py").read_text() == other
    assert "Edits reverted" not in decision_sentence(decision)


@pytest.mark.parametrize("place", ["slug", "dots"])
async def test_a_requested_edit_is_not_reverted_as_unrelated(bench: Roundtable, code: Path, place: str) -> None:
    """The task asks for the change of the caller in other words than its name."""
    commit_tested_function(code)
    dots = 'def dotted(text):\n    return text + "..."\n'
    uses = KEPT.replace('text[:3] + "…"', "dotted(text[:3])")
    slug = f"{dots}\n\n{uses}" if place == "slug" else f"from dots import dotted\n\n\n{uses}"
    files = {"slug": slug} if place == "slug" else {"slug": slug, "dots": dots}
    test = SHORTEN_TEST.replace("slug import shorten", f"{place} import dotted").replace("ShortenTest", "DottedTest")
    test = test.replace('shorten("story"), "sto…"', 'dotted("a"), "a..."')
    meeting = DeskMeeting(bench, claude=writer_turns(**files, test_dots=test))
    task = f"Add dotted(text) to {place}.py, the text with three dots behind it, and use it for texts that are cut."
    decision = await meeting.hold("build", task, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert "sto..." in decision_sentence(decision)
    assert (code / "slug.py").read_text() == KEPT


async def test_a_candidate_that_fails_anyway_is_not_partly_reverted(bench: Roundtable, code: Path) -> None:
    commit_tested_function(code)
    meeting = DeskMeeting(
        bench, claude=writer_turns(slug=KEPT.replace("…", "...") + SLUG.replace("slugify", "slug_of") + "1 / 0\n")
    )
    decision = await meeting.hold("build", ADD, answers=YES)
    assert decision_sentence(decision).startswith("No candidate passed.")
    (results,) = last_trial(await bench.sessions.get(meeting.session)).candidates
    assert results.put_back == ()


async def test_needed_edits_elsewhere_are_kept_and_accidental_deletions_are_reverted(
    bench: Roundtable, code: Path
) -> None:
    commit_tested_function(code)
    write(code, {"editor.py": EDITOR + LENGTH, "test_editor.py": EDITOR_TEST})
    git(code, "add", ".")
    git(code, "commit", "-qm", "An editor")
    remembers = EDITOR.replace("''\n", "''\n        self.past = ['before']\n")
    undo = "    def undo(self):\n        return self.past.pop()\n"
    test = EDITOR_TEST.replace("EditorTest", "UndoTest").replace("len(Editor()), 0", "Editor().undo(), 'before'")
    meeting = DeskMeeting(bench, claude=writer_turns(editor=remembers + undo, test_undo=test))
    decision = await meeting.hold("build", "Add undo() to the class Editor in editor.py.", answers=YES)
    assert decision.next_step == "applied", decision_sentence(decision)
    written_text = (code / "editor.py").read_text()
    assert remembers.rstrip() in written_text
    assert LENGTH in written_text


async def test_a_wrong_new_test_does_not_prevent_reverting_an_accidental_edit(bench: Roundtable, code: Path) -> None:
    commit_tested_function(code)
    broken = SLUG_TEST.replace("hello-world", "HELLO")
    meeting = DeskMeeting(bench, claude=writer_turns(slug=KEPT.replace("…", "...") + SLUG, test_slug=broken))
    decision = await meeting.hold("build", ADD, answers=YES)
    assert decision.next_step == "applied", decision_sentence(decision)
    assert KEPT.strip() in (code / "slug.py").read_text()
    assert not (code / "test_slug.py").exists()


async def test_edits_are_not_reverted_if_no_code_change_would_remain(bench: Roundtable, code: Path) -> None:
    commit_tested_function(code)
    reply = files_reply({"slug.py": "OLD = 1\n", "README.md": "The old function is gone.\n"})
    meeting = DeskMeeting(bench, claude=[{"text": reply}])
    decision = await meeting.hold(
        "build", "Remove the old function from slug.py, and say so in README.md.", answers=YES
    )
    assert decision_sentence(decision).startswith("No candidate passed.")
    assert (code / "slug.py").read_text() == KEPT
