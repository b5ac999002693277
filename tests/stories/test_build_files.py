"""Building: exactly the files that a seat names are written, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.repository import git, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import BROKEN_SLUG, SLUG, SLUG_TEST, TASK, files_reply

RUN = "#!/bin/sh\n# tools/not-a-path.py\nexec python3 -c \"import slug; print(slug.slugify('A b'))\"\n"
NOTES = "It joins words.\n"


def proposes(text: str) -> list[dict[str, str]]:
    return [{"round": "*-propose", "text": text}]


@pytest.mark.feature("S3.43")
async def test_a_script_without_suffix_and_a_name_with_a_space_are_written_byte_for_byte(
    bench: Roundtable, code: Path
) -> None:
    reply = (
        f"{files_reply({'slug.py': SLUG})}\n```sh path=run\n{RUN}```\n\n"
        f'```text path="my notes.txt"\n{NOTES}```\n\n```python path=__init__.py\n"""Slugs."""\n```\n\n'
        "Try it so:\n\n```sh\n#!/bin/sh\n./run\n```\n"
    )
    meeting = DeskMeeting(bench, claude=proposes(reply))
    decision = await meeting.hold("build", TASK, answers={"approve": "all"})
    assert decision.outcome is Outcome.REACHED
    assert (code / "run").read_bytes() == RUN.encode()
    assert (code / "my notes.txt").read_bytes() == NOTES.encode()
    named = git(code, "show", "--format=", "--name-only", "HEAD").splitlines()
    assert sorted(named) == ["__init__.py", "my notes.txt", "run", "slug.py"]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("Rename the function shout in loud.py to cry.", "def cry(text):\n    return text.upper()\n"),
        ("Remove the function shout from loud.py: nobody uses it any more.", ""),
    ],
)
async def test_renaming_or_removing_the_first_function_of_a_file_removes_the_old_one(
    bench: Roundtable, code: Path, task: str, text: str
) -> None:
    shout, whisper = (
        f"def {name}(text):\n    return text.{how}()\n" for name, how in (("shout", "upper"), ("whisper", "lower"))
    )
    write(code, {"loud.py": f"{shout}\n\n{whisper}", "slug.py": SLUG})
    git(code, "add", ".")
    git(code, "commit", "-qm", "Loud and quiet")
    new = f"{text}\n\n{whisper}".lstrip()
    test = SLUG_TEST.replace("from slug import slugify", "import loud").replace(
        'self.assertEqual(slugify(" Hello World "), "hello-world")', 'self.assertFalse(hasattr(loud, "shout"))'
    )
    meeting = DeskMeeting(bench, claude=proposes(files_reply({"loud.py": new, "test_loud.py": test})))
    decision = await meeting.hold("build", task, answers={"approve": "all"})
    assert decision.next_step == "applied", decision_sentence(decision)
    assert (code / "loud.py").read_text() == new


async def test_a_file_path_that_is_not_plain_is_returned_to_its_author_with_the_reason(
    bench: Roundtable, code: Path
) -> None:
    unplain = f"```python path=my slug.py\n{SLUG}```"
    plain = {"contains": "could not be read", "text": files_reply({"slug.py": SLUG})}
    meeting = DeskMeeting(bench, claude=[plain, *proposes(unplain)])
    decision = await meeting.hold("build", TASK, answers={"approve": "all"})
    assert decision.outcome is Outcome.REACHED
    assert "Quote a path" in meeting.voices.calls[1].messages[-1].text
    assert (code / "slug.py").read_text() == SLUG


async def test_a_draft_in_a_models_reasoning_is_recorded_but_is_not_its_answer(bench: Roundtable, code: Path) -> None:
    thoughts, final = files_reply({"slug.py": BROKEN_SLUG}), files_reply({"slug.py": SLUG})
    reply = f"<think>\n{thoughts}\nNo: small letters.\n</think>\n{final}"
    meeting = DeskMeeting(bench, claude=proposes(reply))
    decision = await meeting.hold("build", TASK, answers={"approve": "all"})
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SLUG
    (record, *_) = (await bench.sessions.get(meeting.session)).rounds.values()
    move = record.turns["claude"].move
    assert move is not None
    assert move.raw == reply
    assert "<think>" not in move.text


async def test_a_file_name_with_lookalike_letters_is_rejected(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=proposes(files_reply({"slug.py": SLUG, "\u0455lug.py": "x = 1\n"})))
    decision = await meeting.hold("build", TASK, answers={"approve": "all"})
    assert decision.outcome is Outcome.DEADLOCK
    assert "letters of several alphabets" in decision_sentence(decision)
    assert git(code, "status", "--porcelain") == ""
