"""Passing candidates may still be wrong: candidates that contradict each other, and wrong tests."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.faults import UsageError
from roundtable.core.values import Outcome
from roundtable.report.change_words import render_candidate_table_rows
from roundtable.report.reasons import decision_sentence, describe_reasons, notice_sentences
from tests.repository import git, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import (
    JOINED_SLUG,
    SLUG,
    SLUG_TEST,
    STUB,
    TASK,
    Turns,
    files_reply,
    merge_verdict,
    slug_writer,
)
from tests.stories.test_apply import apply_decision
from tests.stories.test_build import YES, hold_with_person, last_trial, wait_for_gate

NEVER_EMPTY = """def slugify(text):
    return "-".join(text.lower().split()) or "-"
"""
LOWERED_LAST = """def slugify(text):
    return "-".join(text.split()).lower()
"""
LEAVES_A_MESS = """import unittest

import slug


class FirstTest(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug.slugify("A b"), "a-b")

    def tearDown(self):
        slug.slugify.__code__ = (lambda text: text).__code__
"""
"""A test that passes by itself and breaks those that come after it."""
WITH_EXAMPLE = f"{TASK} slugify('A b') must be 'a-b'."


SORTS_WHAT_IT_IS_GIVEN = f"{SLUG}\n\ndef slugs(texts):\n    texts.sort()\n    return [slugify(it) for it in texts]\n"
SORTS_A_COPY = f"{SLUG}\n\ndef slugs(texts):\n    return [slugify(it) for it in sorted(texts)]\n"
IN_ORDER = f"{TASK} And slugs(texts) has the slugs of sorted texts: slugs(['b', 'A c']) must be ['a-c', 'b']."


def author_turns(**files: str) -> Turns:
    """Return the turns of a seat that proposes these modules."""
    sources = {f"{name}.py": text for name, text in files.items()}
    return [{"round": "*-propose", "text": files_reply(sources)}]


async def test_the_person_chooses_between_passing_candidates_that_behave_differently(
    bench: Roundtable, code: Path
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(JOINED_SLUG), gpt=slug_writer(NEVER_EMPTY))
    decision = await hold_with_person(meeting, bench, WITH_EXAMPLE, which=("gpt", ""), approve=("all", ""))
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "gpt")
    assert (code / "slug.py").read_text() == NEVER_EMPTY
    question = (await bench.sessions.get(meeting.session)).gates["which"]
    assert "slug.slugify(''): '' with claude's, '-' with gpt's." in question.question
    assert question.options == ("claude", "gpt", "none of them")
    assert question.details["gpt"] == "slug.slugify('') is '-'"
    assert "have the same results" not in decision_sentence(decision)
    chose = (
        "The results do not show which of these candidates is right: claude and gpt. "
        "The person chose the behaviour of gpt's candidate."
    )
    assert f"behave in 2 different ways. {chose}" in decision_sentence(decision)


async def test_without_a_person_contradicting_candidates_are_not_written_despite_advance_approval(
    bench: Roundtable, code: Path
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(JOINED_SLUG), gpt=slug_writer(NEVER_EMPTY))
    decision = await meeting.hold("build", WITH_EXAMPLE, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision).startswith("Several candidates pass every check but behave differently.")
    assert "slug.slugify('')" in decision_sentence(decision)
    assert "Nobody said which behaviour is right." in decision_sentence(decision)
    assert (code / "slug.py").read_text() == STUB


PILE = (
    "Add a class Pile to slug.py, of some items, with a method top(): the last of them, and None where there are none."
)
ENDS_IN_AN_ERROR = f"""{SLUG}

class Pile:
    def __init__(self, items):
        self.items = items

    def top(self):
        return self.items[-1]
"""
OF_NONE_TOO = ENDS_IN_AN_ERROR.replace("[-1]", "[-1] if self.items else None")
PILE_TEST = """import unittest

from slug import Pile


class PileTest(unittest.TestCase):
    def test_the_last_is_on_top(self):
        self.assertEqual(Pile([1, 2]).top(), 2)
"""
PILE_OF_NONE_TEST = f"""{PILE_TEST}
    def test_of_none_there_is_none(self):
        self.assertIsNone(Pile([]).top())
"""


@pytest.mark.parametrize("seats", [("claude", "gpt"), ("gpt", "claude")], ids=" first, ".join)
async def test_the_person_chooses_when_only_one_candidates_test_shows_a_difference_in_any_seat_order(
    seats: tuple[str, str], bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    wrote = {
        "claude": author_turns(slug=OF_NONE_TOO, test_more=PILE_OF_NONE_TEST),
        "gpt": author_turns(slug=ENDS_IN_AN_ERROR, test_pile=PILE_TEST),
    }
    meeting = DeskMeeting(bench, **{seat: wrote[seat] for seat in seats})
    decision = await meeting.hold("build", PILE, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK, decision_sentence(decision)
    assert decision_sentence(decision).startswith("Several candidates pass every check but behave differently.")
    assert (code / "slug.py").read_text() == SLUG
    result = last_trial(await bench.sessions.get(meeting.session))
    assert {row[0]: row[3] for row in render_candidate_table_rows(result)} == {"claude": "nobody", "gpt": "nobody"}
    assert "The 2 candidates behave in 2 different ways in the checks and tests." in describe_reasons(result.how)
    names = " and ".join(seats)
    assert describe_reasons(result.how).endswith(
        f"The results do not show which of these candidates is right: {names}."
    )

    meeting = DeskMeeting(bench, **{seat: wrote[seat] for seat in seats})
    decision = await hold_with_person(meeting, bench, PILE, which=("claude", ""), approve=("all", ""))
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude")
    assert (code / "slug.py").read_text() == OF_NONE_TOO
    question = (await bench.sessions.get(meeting.session)).gates["which"]
    test = "claude: test_more.PileTest.test_of_none_there_is_none"
    assert f" {test}: " in question.question
    assert {"passes with claude's", "fails with gpt's"} <= set(re.split(r": |, |\. ", question.question))
    assert (question.details["claude"], question.details["gpt"]) == (f"{test} passes", f"{test} fails")


async def test_a_test_that_only_its_author_passes_does_not_outweigh_two_agreeing_candidates(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    seats = {
        "claude": author_turns(slug=OF_NONE_TOO, test_more=PILE_OF_NONE_TEST),
        "gpt": author_turns(slug=ENDS_IN_AN_ERROR, test_pile=PILE_TEST),
        "gemini": author_turns(slug=ENDS_IN_AN_ERROR.replace("items", "all"), test_top=PILE_TEST),
    }
    meeting = DeskMeeting(bench, **seats)
    decision = await meeting.hold("build", PILE, answers=YES, settings={"judge": False})
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert "The candidates of claude, gpt and gemini have the same results." in decision_sentence(decision)
    assert last_trial(await bench.sessions.get(meeting.session)).apart == {}


LARGEST = "Add largest(items) to slug.py, which returns the largest of some items."
SORTS = f"{SLUG}\n\ndef largest(items):\n    items.sort()\n    return items[-1]\n"
OR_NOTHING = f"{SLUG}\n\ndef largest(items):\n    return max(items, default=None)\n"
LARGEST_TEST = """import unittest

from slug import largest


class LargestTest(unittest.TestCase):
    def test_it_is_the_largest(self):
        self.assertEqual(largest([1, 3, 2]), 3)
"""


def commit_passing_slug(code: Path) -> None:
    """Make the existing test pass, so that it shows nothing about the requested change."""
    (code / "slug.py").write_text(SLUG)
    git(code, "commit", "-qam", "A slug")


async def test_a_candidate_without_support_is_asked_for_a_test_of_its_own(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    single = [
        *author_turns(slug=OR_NOTHING),
        {"round": "*-evidence", "text": files_reply({"test_more.py": LARGEST_TEST})},
    ]
    meeting = DeskMeeting(bench, claude=single, gpt=author_turns(slug=SORTS, test_largest=LARGEST_TEST))
    decision = await meeting.hold("build", LARGEST, answers=YES)
    prompt = meeting.prompt("build/2-evidence", "claude")
    assert "No other candidate behaves like this one, and none of its own tests" in prompt
    assert "default=None" not in prompt, "a test is to follow from the task, not from the code"
    assert "You may change only: test_slug_2.py." in prompt, "there is a test_slug.py"
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude"), decision_sentence(decision)
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST
    assert OR_NOTHING in decision.text


async def test_a_reply_to_a_request_for_a_test_does_not_replace_the_code(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    again = files_reply({"slug.py": SLUG, "test_more.py": LARGEST_TEST})
    meeting = DeskMeeting(bench, claude=[*author_turns(slug=OR_NOTHING), {"round": "*-evidence", "text": again}])
    assert (await meeting.hold("build", LARGEST, answers=YES)).outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST


async def test_requested_tests_are_kept_when_the_code_is_fixed(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    smallest = OR_NOTHING.replace("max", "min")
    turns = [
        *author_turns(slug=smallest),
        {"round": "*-evidence", "text": files_reply({"test_more.py": LARGEST_TEST})},
        {"round": "*-mend", "text": files_reply({"slug.py": OR_NOTHING})},
    ]
    meeting = DeskMeeting(bench, claude=turns)
    decision = await meeting.hold("build", LARGEST, answers=YES, settings={"mends": 2})
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert list((await bench.sessions.get(meeting.session)).rounds) == [
        "build/1-propose",
        "build/2-evidence",
        "build/3-mend",
    ]
    assert "test_it_is_the_largest" in meeting.prompt("build/3-mend", "claude")
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST


async def test_an_accidental_edit_is_reverted_so_that_only_the_missing_test_is_requested(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    garbled = OR_NOTHING.replace('"-"', '"_"')
    meeting = DeskMeeting(
        bench,
        claude=[
            *author_turns(slug=garbled),
            {"round": "*-evidence", "text": files_reply({"test_more.py": LARGEST_TEST})},
        ],
    )
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert (
        "Edits reverted, because they broke checks and the task does not ask for them: slugify in slug.py."
        in decision_sentence(decision)
    )
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST


async def test_a_reply_to_a_request_for_a_test_may_only_add_tests(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    extra = {"conftest.py": "raise SystemExit\n", "tests/__init__.py": "", "test_more.py": LARGEST_TEST}
    meeting = DeskMeeting(
        bench, claude=[*author_turns(slug=OR_NOTHING), {"round": "*-evidence", "text": files_reply(extra)}]
    )
    assert (await meeting.hold("build", LARGEST, answers=YES)).outcome is Outcome.REACHED
    assert git(code, "show", "--name-only", "--format=").split() == ["slug.py", "test_more.py"]


async def test_a_candidate_that_fails_its_requested_test_does_not_pass(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    task = "Add largest(items) to slug.py, which returns the largest of some items: [1, 3] is 3. Of none it is 0."
    zero = "\n    def test_none(self):\n        self.assertEqual(largest([]), 0)\n"
    single = [
        *author_turns(slug=OR_NOTHING),
        {"round": "*-evidence", "text": files_reply({"test_more.py": LARGEST_TEST + zero})},
    ]
    meeting = DeskMeeting(bench, claude=single, gpt=author_turns(slug=SORTS, test_largest=LARGEST_TEST))
    decision = await meeting.hold("build", task, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK, decision_sentence(decision)
    assert (code / "slug.py").read_text() == SLUG


async def test_a_seat_that_fixes_only_its_test_keeps_its_code(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    broken = LARGEST_TEST.replace("2]), 3", "2]), 2")
    turns = [
        *author_turns(slug=OR_NOTHING, test_more=broken),
        {"round": "*-mend", "text": files_reply({"test_more.py": LARGEST_TEST})},
    ]
    meeting = DeskMeeting(bench, claude=turns)
    assert (await meeting.hold("build", LARGEST, answers=YES)).outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST


async def test_judges_see_the_full_code_of_a_seat_that_fixed_only_its_test(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)

    def mends_its_test(slug: str) -> Turns:
        return [
            *author_turns(slug=slug, test_more=LARGEST_TEST.replace("2]), 3", "2]), 2")),
            {"round": "*-mend", "text": files_reply({"test_more.py": LARGEST_TEST})},
            {"round": "*-judge*", "text": merge_verdict("candidate-A")},
        ]

    meeting = DeskMeeting(
        bench, claude=mends_its_test(OR_NOTHING), gpt=mends_its_test(OR_NOTHING.replace("items", "things"))
    )
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert "default=None" in meeting.prompt("build/3-judge-ab", "claude")
    assert "default=None" in decision.text


@pytest.mark.parametrize("task", [LARGEST, "Write a test for largest() in slug.py."])
async def test_a_test_that_does_not_parse_can_be_fixed_separately(bench: Roundtable, code: Path, task: str) -> None:
    commit_passing_slug(code)
    files = {"test_more": LARGEST_TEST.replace("):", ")")}
    if task == LARGEST:
        files["slug"] = OR_NOTHING
    else:
        (code / "slug.py").write_text(OR_NOTHING)
        git(code, "commit", "-qam", "The largest")
    mended = {"round": "*-mend", "text": files_reply({"test_more.py": LARGEST_TEST})}
    decision = await DeskMeeting(bench, claude=[*author_turns(**files), mended]).hold("build", task, answers=YES)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert (code / "slug.py").read_text() == OR_NOTHING
    assert (code / "test_more.py").read_text() == LARGEST_TEST


async def test_a_candidate_without_a_test_passes_if_a_tested_candidate_behaves_alike(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(
        bench, claude=author_turns(slug=OR_NOTHING), gpt=author_turns(slug=OR_NOTHING, test_largest=LARGEST_TEST)
    )
    assert (await meeting.hold("build", LARGEST, answers=YES)).outcome is Outcome.REACHED
    result = last_trial(await bench.sessions.get(meeting.session))
    assert {candidate.seat for candidate in result.candidates if candidate.passed} == {"claude", "gpt"}


OF_NONE_TEST = f"""{LARGEST_TEST}
    def test_of_none_it_is_nothing(self):
        self.assertIsNone(largest([]))
"""
ONLY_OF_NONE_TEST = """import unittest

from slug import largest


class OfNoneTest(unittest.TestCase):
    def test_of_none(self):
        self.assertIsNone(largest([]))
"""
TAKES_THE_LAST = f"{SLUG}\n\ndef largest(items):\n    return sorted(items)[-1]\n"
OF_NONE_IS_AN_ERROR_TEST = ONLY_OF_NONE_TEST.replace(
    "self.assertIsNone(largest([]))", "self.assertRaises(IndexError, largest, [])"
)
DOUBT = (
    "claude's candidate passes everything except one check. "
    "No other candidate behaves like this one, and no test of another seat shows that it is right."
)


@pytest.mark.parametrize(
    "other", [files_reply({"../slug.py": SLUG}), files_reply({"slug.py": SORTS.replace("-1", "0")})]
)
async def test_own_tests_do_not_corroborate_a_candidate_but_the_person_may_take_it(
    other: str, bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    seats: dict[str, Turns] = {
        "claude": author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST),
        "gpt": [{"round": "*", "text": other}],
    }
    meeting = DeskMeeting(bench, **seats)
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision).startswith(
        "No candidate passed. claude: agreement: No other candidate behaves like this one"
    )
    assert decision_sentence(decision).endswith("Nobody chose a candidate.")
    assert (code / "slug.py").read_text() == SLUG
    rounds = (await bench.sessions.get(meeting.session)).rounds
    asked_seats = {name: [move.seat for move in one.moves()] for name, one in rounds.items()}
    again = {"build/2-mend": ["gpt"], "build/2-anew": ["gpt"]}
    assert asked_seats == {"build/1-propose": ["claude", "gpt"], **again}, "claude's stands as it is"

    decision = await hold_with_person(DeskMeeting(bench, **seats), bench, LARGEST, doubt=("none of them", ""))
    assert decision_sentence(decision).endswith("The person chose none of the candidates.")

    meeting = DeskMeeting(bench, **seats)
    decision = await hold_with_person(meeting, bench, LARGEST, doubt=("claude", ""), approve=("all", ""))
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude"), decision_sentence(decision)
    assert decision_sentence(decision).endswith(
        "The person chose claude's candidate, although it could not be verified independently."
    )
    assert f"No candidate could be verified independently. {DOUBT}" in notice_sentences(decision)
    gates = (await bench.sessions.get(meeting.session)).gates
    assert gates["doubt"].options == ("claude", "none of them")
    assert gates["doubt"].writes, "no program may answer it"
    assert DOUBT in gates["doubt"].question
    assert DOUBT in gates["approve"].question
    assert (code / "slug.py").read_text() == OR_NOTHING
    rows = render_candidate_table_rows(last_trial(await bench.sessions.get(meeting.session)))
    assert {row[0]: row[-1] for row in rows}["claude"] == "in doubt"


async def test_an_uncorroborated_change_cannot_be_approved_in_advance(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(
        bench, claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST), gpt=author_turns(slug=SLUG)
    )
    with pytest.raises(UsageError, match="Gate doubt does not accept the advance answer claude"):
        await meeting.hold("build", LARGEST, answers={**YES, "doubt": "claude"})


async def test_uncorroborated_candidates_are_shown_with_their_differences(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    seats = {
        "claude": author_turns(slug=OR_NOTHING, test_more=ONLY_OF_NONE_TEST),
        "gpt": author_turns(slug=TAKES_THE_LAST, test_largest=OF_NONE_IS_AN_ERROR_TEST),
    }
    meeting = DeskMeeting(bench, **seats)
    decision = await hold_with_person(meeting, bench, LARGEST, doubt=("gpt", ""), approve=("all", ""))
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "gpt"), decision_sentence(decision)
    question = (await bench.sessions.get(meeting.session)).gates["doubt"]
    assert question.options == ("claude", "gpt", "none of them")
    assert "slug.largest([]): None with claude's, an error (IndexError) with gpt's." in question.question, (
        question.question
    )
    assert question.details["claude"].startswith("slug.largest([]) is None; ")


@pytest.mark.parametrize(("mended", "outcome"), [(SLUG, Outcome.DEADLOCK), (OR_NOTHING, Outcome.REACHED)])
async def test_a_change_without_code_does_not_win_over_uncorroborated_candidates_and_may_be_fixed(
    mended: str, outcome: Outcome, bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    notes = files_reply({"NOTES.md": "The largest is found.\n"})
    meeting = DeskMeeting(
        bench,
        claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST),
        gpt=[{"round": "*-propose", "text": notes}, {"round": "*", "text": files_reply({"slug.py": mended})}],
    )
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert decision.outcome is outcome, decision_sentence(decision)
    assert "This candidate changes no code, but other candidates do." in meeting.prompt("build/2-mend", "gpt")
    assert not (code / "NOTES.md").exists()


async def test_if_no_uncorroborated_candidate_is_taken_one_that_changed_tests_needs_approval(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    joined_otherwise = {
        "slug.py": OR_NOTHING.replace('"-"', '"_"'),
        "test_slug.py": SLUG_TEST.replace("hello-world", "hello_world"),
        "test_more.py": LARGEST_TEST,
    }
    meeting = DeskMeeting(
        bench, claude=[{"round": "*", "text": files_reply(joined_otherwise)}], gpt=author_turns(slug=SLUG + "\n")
    )
    decision = await meeting.hold("build", LARGEST, answers={"approve-tests": "all"})
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude"), decision_sentence(decision)
    assert (await bench.sessions.get(meeting.session)).gates["doubt"].options == ("gpt", "none of them")


async def test_the_warning_about_an_uncorroborated_change_is_repeated_when_it_is_applied_later(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(
        bench, claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST), gpt=author_turns(slug=SLUG)
    )
    await hold_with_person(meeting, bench, LARGEST, doubt=("claude", ""), approve=("none", ""))
    later, decision = await apply_decision(bench, meeting)
    assert (decision.outcome, decision.degraded) == (Outcome.REACHED, True), decision_sentence(decision)
    assert DOUBT in notice_sentences(decision)[-1]
    assert DOUBT in (await bench.sessions.get(later.session)).gates["approve"].question


async def test_the_warning_about_an_uncorroborated_change_survives_a_cancelled_session(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(
        bench, claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST), gpt=author_turns(slug=SLUG)
    )
    await meeting.open("build", LARGEST, headless=False)

    async def person() -> None:
        await wait_for_gate(meeting, bench, "doubt")
        await bench.gates.answer(meeting.session, "doubt", "claude", by="anna")
        await wait_for_gate(meeting, bench, "approve")
        await bench.sessions.cancel(meeting.session)

    await asyncio.gather(meeting.hold("build"), person())
    later, decision = await apply_decision(bench, meeting)
    assert notice_sentences(decision) == (f"No candidate could be verified independently. {DOUBT}",)
    assert DOUBT in (await bench.sessions.get(later.session)).gates["approve"].question
    assert (code / "slug.py").read_text() == OR_NOTHING


PAGE = """from pathlib import Path


def render(name):
    return Path(__file__).with_name("page.html").read_text().replace("NAME", name)
"""
SAYS_BYE_FIRST = f"""{PAGE.replace("return ", "return farewell(name) + ")}

def farewell(name):
    return "Bye " + name
"""
BYE_FIRST_TEST = """import unittest

from page import farewell, render


class ByeTest(unittest.TestCase):
    def test_bye(self):
        self.assertEqual(farewell("Ada"), "Bye Ada")
        self.assertTrue(render("Ada").startswith("Bye Ada"))
"""
BYE_LAST_TEST = """import unittest

from page import render


class EndTest(unittest.TestCase):
    def test_end(self):
        self.assertTrue(render("Ada").endswith("Bye Ada\\n"))
"""


async def test_a_change_to_a_data_file_passes_with_a_test_that_fails_without_it(bench: Roundtable, code: Path) -> None:
    commit_passing_slug(code)
    write(code, {"page.py": PAGE, "page.html": "<p>NAME</p>\n"})
    git(code, "add", "-A")
    git(code, "commit", "-qm", "A page")
    page = files_reply({"page.html": "<p>NAME</p>\nBye NAME\n", "test_end.py": BYE_LAST_TEST})
    meeting = DeskMeeting(
        bench,
        claude=author_turns(page=SAYS_BYE_FIRST, test_bye=BYE_FIRST_TEST),
        gpt=[{"round": "*", "text": page.replace("```python\n<p>", "```html\n<p>")}],
    )
    decision = await meeting.hold(
        "build", "Have what render() gives end with a line that says Bye and the name.", answers=YES
    )
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "gpt"), decision_sentence(decision)


async def test_an_uncorroborated_candidate_passes_once_another_seats_fix_behaves_alike(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    turns = [
        *author_turns(slug=SORTS.replace("-1", "0")),
        {"round": "*-mend", "text": files_reply({"slug.py": OR_NOTHING})},
    ]
    meeting = DeskMeeting(bench, claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST), gpt=turns)
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert [round.seat for round in (await bench.sessions.get(meeting.session)).rounds["build/2-mend"].moves()] == [
        "gpt"
    ]
    assert (code / "slug.py").read_text() == OR_NOTHING


async def test_an_uncorroborated_candidate_passes_with_its_own_and_another_seats_tests(
    bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(
        bench,
        claude=author_turns(slug=OR_NOTHING, test_more=OF_NONE_TEST),
        gpt=author_turns(slug=SORTS, test_largest=LARGEST_TEST),
    )
    decision = await meeting.hold("build", LARGEST, answers=YES)
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude"), decision_sentence(decision)


@pytest.mark.parametrize(
    ("examples", "outcome"),
    [
        ("largest([1, 3]) is 3", Outcome.DEADLOCK),
        ("largest([1, 3]) is 3. slugify('A b') is still 'a-b'. slugify('a') is 'a'", Outcome.DEADLOCK),
        ("largest([1, 3]) is 3. Then stack.peek() is 3", Outcome.DEADLOCK),
        ("largest([1, 3]) is 3, largest([4]) is 4", Outcome.REACHED),
    ],
    ids=["one", "others that held before", "another that cannot be run", "two"],
)
async def test_a_single_example_does_not_verify_a_candidate(
    examples: str, outcome: Outcome, bench: Roundtable, code: Path
) -> None:
    commit_passing_slug(code)
    meeting = DeskMeeting(bench, claude=author_turns(slug=OR_NOTHING), gpt=author_turns(slug=SORTS.replace("-1", "0")))
    decision = await meeting.hold("build", f"{LARGEST} {examples}.", answers=YES)
    assert decision.outcome is outcome, decision_sentence(decision)


async def test_a_candidate_that_mutates_its_arguments_is_sent_back_for_a_fix(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SORTS_WHAT_IT_IS_GIVEN, SORTS_A_COPY))
    decision = await meeting.hold("build", IN_ORDER, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SORTS_A_COPY
    prompt = meeting.prompt("build/2-mend", "claude")
    assert "slug.slugs(['b', 'A c']) mutates its arguments" in prompt
    assert "Work on a copy" in prompt


FIRST = """def slugify(text):
    words = text.lower().split()
    return words[0] + "".join(f"-{word}" for word in words[1:])
"""


@pytest.mark.parametrize(
    ("extra", "outcome"), [("", Outcome.DEADLOCK), (" Other texts raise an error.", Outcome.REACHED)]
)
async def test_an_error_in_a_call_that_worked_before_is_a_regression_unless_the_task_asks_for_errors(
    extra: str, outcome: Outcome, bench: Roundtable, code: Path
) -> None:
    (code / "slug.py").write_text('def slugify(text):\n    return text.strip().replace(" ", "-")\n')
    git(code, "commit", "-qam", "A slug in big letters")
    decision = await DeskMeeting(bench, claude=slug_writer(FIRST, FIRST)).hold(
        "build", WITH_EXAMPLE + extra, answers=YES
    )
    assert decision.outcome is outcome, decision_sentence(decision)
    text = "existing behaviour: slug.slugify('') returned '' before the change and raises IndexError after it."
    assert (text in decision_sentence(decision)) is (outcome is Outcome.DEADLOCK)


async def test_a_call_that_returned_none_before_cannot_regress(bench: Roundtable, code: Path) -> None:
    (code / "slug.py").write_text("def slugify(text):\n    pass\n")
    git(code, "commit", "-qam", "A slug that is not there yet")
    decision = await DeskMeeting(bench, claude=slug_writer(FIRST, FIRST)).hold("build", WITH_EXAMPLE, answers=YES)
    assert decision.next_step == "applied", decision_sentence(decision)


async def test_a_renamed_function_is_no_regression(bench: Roundtable, code: Path) -> None:
    old = '"""Slugs."""\n\n\ndef joined(text):\n    """Join words.\n\n    >>> joined("a b")\n    \'a-b\'\n    """\n'
    old += '    return "-".join(text.split())\n'
    write(code, {"slug.py": f"{old}\n\n{SLUG}"})
    git(code, "commit", "-qam", "One more")
    test = SLUG_TEST.replace("slugify", "hyphened").replace(" Hello World ", "hello world")
    meeting = DeskMeeting(
        bench, claude=author_turns(slug=f"{old}\n\n{SLUG}".replace("joined", "hyphened"), test_more=test)
    )
    decision = await meeting.hold("build", "Rename the function joined in slug.py to hyphened.", answers=YES)
    assert decision.next_step == "applied", decision_sentence(decision)


async def test_a_candidate_that_still_mutates_its_arguments_is_not_written(bench: Roundtable, code: Path) -> None:
    seats = {"claude": slug_writer(SORTS_WHAT_IT_IS_GIVEN, SORTS_WHAT_IT_IS_GIVEN), "gpt": slug_writer(STUB, STUB)}
    decision = await DeskMeeting(bench, **seats).hold("build", IN_ORDER, answers=YES)
    assert decision_sentence(decision).startswith("No candidate passed.")
    assert "and the task does not ask for that." in decision_sentence(decision), "so that the person knows what to say"
    assert (code / "slug.py").read_text() == STUB


async def test_a_task_that_asks_for_work_in_place_allows_mutation(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SORTS_WHAT_IT_IS_GIVEN))
    decision = await meeting.hold("build", f"{IN_ORDER} It sorts the texts in place.", answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SORTS_WHAT_IT_IS_GIVEN


async def test_two_candidates_that_behave_alike_outweigh_one_that_differs(bench: Roundtable, code: Path) -> None:
    ruling = merge_verdict("candidate-A")
    seats = {"claude": slug_writer(JOINED_SLUG, judge=ruling), "gpt": slug_writer(NEVER_EMPTY, judge=ruling)}
    meeting = DeskMeeting(bench, **seats, gemini=slug_writer(SLUG, judge=ruling))
    decision = await meeting.hold("build", WITH_EXAMPLE, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() in (JOINED_SLUG, SLUG)
    assert set(last_trial(await bench.sessions.get(meeting.session)).best) == {"claude", "gemini"}


async def test_new_tests_that_break_existing_tests_are_left_out_of_the_change(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=author_turns(slug=SLUG, test_first=LEAVES_A_MESS))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SLUG
    assert "Test files left out, because the code does not pass them: test_first.py." in decision_sentence(decision)
    assert not (code / "test_first.py").exists()
    assert git(code, "status", "--porcelain") == ""


async def test_a_new_test_that_cannot_run_is_left_out_if_the_examples_of_the_task_pass(
    bench: Roundtable, code: Path
) -> None:
    imports_nothing = 'def test_words():\n    assert slugify("A b") == "a-b"\n\n\ntest_words()\n'
    meeting = DeskMeeting(bench, claude=author_turns(slug=SLUG, test_more=imports_nothing))
    decision = await meeting.hold("build", WITH_EXAMPLE, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert "Test files left out, because the code does not pass them: test_more.py." in decision_sentence(decision)
    assert (code / "slug.py").read_text() == SLUG


async def test_a_test_that_no_candidate_passes_is_left_out_if_other_tests_verify_the_code(
    bench: Roundtable, code: Path
) -> None:
    broken = SLUG_TEST.replace("hello-world", "hello_world")
    meeting = DeskMeeting(
        bench,
        claude=author_turns(slug=SLUG, test_more=broken),
        gpt=author_turns(
            slug=STUB, test_other=SLUG_TEST.replace("Hello World", "Good Day").replace("hello-w", "good-day-w")
        ),
    )
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK, "nobody else's test shows it"
    right = SLUG_TEST.replace("Hello World", "Good Day").replace("hello-world", "good-day")
    meeting = DeskMeeting(
        bench,
        claude=author_turns(slug=LOWERED_LAST, test_more=broken),
        gpt=author_turns(slug=JOINED_SLUG, test_other=right),
    )
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert {
        candidate.seat: candidate.without
        for candidate in last_trial(await bench.sessions.get(meeting.session)).candidates
    } == {
        "claude": ("test_more.py",),
        "gpt": (),
    }
