"""Views of hand-written records: what they show, and that model text cannot forge them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from roundtable.core.events import (
    CallFailed,
    CancelAsked,
    DecisionMade,
    Event,
    GateAnswered,
    GateOpened,
    LimitReached,
    MoveMade,
    NoteSaid,
    Recorded,
    RoundClosed,
    RoundOpened,
    RunStarted,
    RunStopped,
    SeatMissed,
    SessionAmended,
    SessionEnded,
    SessionOpened,
    TurnAsked,
    TurnInterrupted,
)
from roundtable.core.faults import Fault, FaultKind, NotFound
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import (
    Absence,
    Charter,
    ContextItem,
    Decision,
    Dissent,
    Expect,
    Gate,
    Limits,
    MoveStatus,
    Outcome,
    Prompt,
    Proposal,
    Seat,
    Timing,
    Turns,
    Usage,
)
from roundtable.core.verdict import Evidence, ParseStatus, Verdict
from roundtable.report.html import render_round_page, render_session_page
from roundtable.report.phrases import describe_session_status
from roundtable.report.summary import report_round_as_data, report_session_as_data
from roundtable.report.transcript import render_round_as_markdown, render_transcript

BLIND, BALLOT, AGAIN = "council/1-blind", "council/2-ballot", "council/3-reconsider"
SEATS = ("claude", "gpt", "gemini")
NASTY = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07\x9b2J\u202egnp.exe\u202c\r\n"
    "# Decision\n\nDecision\n===\n</script><script>alert(1)</script>\n"
    '<img src="http://evil.example/x.png" onerror=alert(1)>\n![look](http://evil.example/y.png)\n'
    "---\n| a | b |\n|---|---|\n</blockquote></section><h2>Decision</h2>\n\x00\x08 end"
)
SLOW = Fault.of(FaultKind.TIMEOUT, "No answer in 120 s.", help="Wait longer.")


def session_of(*events: Event) -> Session:
    """The fold of a record with these facts."""
    records = [Recorded(n, f"2026-11-15T18:00:{n:02}.000000Z", "s-1", event) for n, event in enumerate(events, 1)]
    return Session.fold("s-1", records)


def session_opened(question: str = "REST or GraphQL?", seats: Sequence[str] = SEATS, **more: Any) -> SessionOpened:
    chairs = tuple(Seat(name, (f"lab:{name}",)) for name in seats)
    return SessionOpened(Charter(question, chairs, "council", 1, slug="2026-11-15-rest-or-graphql", **more))


def round_opened(name: str, seats: Sequence[str] = SEATS, turns: Turns = Turns()) -> RoundOpened:
    return RoundOpened(name, tuple(seats), tuple(seats), turns, Expect(), Prompt("blind"), "sha256:0")


def move_made(round: str, seat: str, text: str, said: Verdict = Verdict(), **more: Any) -> MoveMade:
    more.setdefault("usage", Usage(1000, 100, 200, 0.01))
    return MoveMade(round, seat, f"{round}/{seat}#1", text, f"lab:{seat}", said, timing=Timing(0.2, 1.5), **more)


def decision_made(**more: Any) -> DecisionMade:
    return DecisionMade(Decision(Outcome.REACHED, (Said("All 2 counted seats agree."),), electorate=SEATS, **more))


def full_session(text: str = "Use REST.\n\nIt caches.") -> Session:
    """Return a session in which everything possible happens."""
    absent = Fault.of(FaultKind.QUOTA, "No credit left.")
    return session_of(
        session_opened(),
        RunStarted("host:1:2:3"),
        round_opened(BLIND),
        TurnAsked(BLIND, "claude", f"{BLIND}/claude#1", "lab:claude", 3),
        move_made(BLIND, "claude", text, Verdict(position="Use REST", confidence=0.8)),
        move_made(BLIND, "gpt", "GraphQL, for one round trip.", Verdict(position="Use GraphQL")),
        CallFailed(BLIND, "gemini", "g#1", "lab:gemini", absent),
        SeatMissed(BLIND, "gemini", absent, "I was about"),
        RoundClosed(BLIND, "all", ("claude", "gpt"), ("gemini",)),
        round_opened(BALLOT, ("claude", "gpt"), Turns(secret=True)),
        move_made(BALLOT, "claude", "", Verdict(ratings={"A": "same", "B": "opposed"}), usage=Usage(10, 5)),
        RoundClosed(BALLOT, "deadline", ("claude",), ("gpt",), quorate=False),
        NoteSaid("Mind the *mobile* clients.", by="maria", to=("gpt",)),
        SessionAmended(by="maria", name="api", context_added=(ContextItem("api.md", "sha256:1", 1234),)),
        round_opened(AGAIN, ("claude", "gpt")),
        move_made(
            AGAIN, "gpt", "Yes.", Verdict(target="A", error="I forgot caches", evidence=(Evidence("304", "RFC 9111"),))
        ),
        RoundClosed(AGAIN, "quorum", ("gpt",), ("claude",)),
        move_made(AGAIN, "claude", "Too slow.", Verdict(parse=ParseStatus.FAILED), status=MoveStatus.LATE),
        LimitReached("council/4-reconsider", "budget_usd", 1.25, 1.0),
        GateOpened(Gate("choose", "Which one?", ("A", "B", "none"), "none")),
        GateAnswered("choose", "A", "because", by="maria"),
        decision_made(
            winner="A",
            position="Use REST",
            text=text,
            author="claude",
            counted=("claude", "gpt"),
            missing=(Absence("gemini", absent),),
            dissent=(Dissent("gpt", "Use GraphQL", "I keep\nmy reasons."),),
            proposals=(Proposal("A", "Use REST", ("claude",)), Proposal("B", "Use GraphQL", ("gpt",))),
            blind_vote={"A": 1, "B": 1},
            tally={"A": 2},
            conformity=("gpt",),
            basis=(BLIND, AGAIN),
            notices=(Said("Changed without a named reason."),),
        ),
        SessionEnded("reached"),
    )


# --- clean ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended", "0;never ended"),
        ("\x9b2Jgone", "gone"),
        ("over\rwritten", "over\nwritten"),
        ("a\x00\x07\x08\x7fb\tc\n", "ab\tc\n"),
        ("\u202egnp.exe\u202c \u2066x\u2069\u200f\ufeff", "gnp.exe x"),
        ("half \ud83d", "half \ufffd"),
        ("👩\u200d💻 naïve 東京 می\u200cخواهم", "👩\u200d💻 naïve 東京 می\u200cخواهم"),
        ("hidden\U000e0041\U000e0042", "hidden"),
    ],
)
def test_text_is_sanitized_for_terminals(text: str, shown: str) -> None:
    assert sanitize_text(text) == shown


@given(st.text(st.characters(), max_size=200))
def test_terminal_escape_sequences_are_removed(text: str) -> None:
    shown = sanitize_text(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert sanitize_text(shown) == shown
    shown.encode()


def test_a_long_line_is_cut() -> None:
    assert sanitize_line(" a\n b\t c ") == "a b c"
    assert sanitize_line("abcdef", 4) == "abc…"


# --- quoting --------------------------------------------------------------------------------------


def tokens(markdown: str) -> list[tuple[str, int]]:
    """Block tokens outside of quotes, and every kind of inline token."""
    depth, found = 0, list[tuple[str, int]]()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        depth -= token.type == "blockquote_close"
        found.append((token.type, depth))
        found += [(child.type, depth) for child in token.children or ()]
        depth += token.type == "blockquote_open"
    return found


SNEAKY = [
    NASTY,
    "```\n<b>code</b>\n```\n<i>text</i>",
    "- ```\n  x\n  ```\n<h2>out</h2>",
    "- a\n\n  ```\n  b\n\n<h2>out</h2>",
    " ```\n<u>in</u>\n```\n<h2>out</h2>",
    "~~~\n```\n<b>\n~~~\n<h2>out</h2>",
    "````\n```\n<b>\n````\n<h2>out</h2>",
    "```a`b\n<h2>out</h2>",
    "<!--\n\n\n# end",
    "\\<b> \\\\<b> \\\\\\<b>",
]


@pytest.mark.parametrize("text", SNEAKY)
def test_a_quote_contains_any_text(text: str) -> None:
    found = tokens(f"## Ours\n\n{quote_markdown(text)}\n\n## Ours again")
    assert [kind for kind, depth in found if kind == "heading_open" and depth == 0] == ["heading_open"] * 2
    assert not {"html_block", "html_inline", "image"} & {kind for kind, _ in found}


@given(
    st.lists(st.sampled_from([*"`~<>-#= \n!\\", "```", "<b>", "![", "](x)", "> ", "- ", "    ", "1. "]), max_size=30)
)
def test_no_text_escapes_its_quote(pieces: list[str]) -> None:
    found = tokens(f"{quote_markdown(''.join(pieces))}\n\nours")
    assert [kind for kind, depth in found if depth == 0][-5:-1] == [
        "blockquote_close",
        "paragraph_open",
        "inline",
        "text",
    ]
    assert not {"html_block", "html_inline", "image"} & {kind for kind, _ in found}


def test_quoted_code_is_unchanged() -> None:
    assert quote_markdown("```java\nList<String> x;\n```") == "> ```java\n> List<String> x;\n> ```"
    assert quote_markdown(" \n") == "> *(nothing)*"


@given(st.text(max_size=40) | st.text("_a0 *", max_size=12))
@example("__0__")
def test_inline_text_is_taken_literally(text: str) -> None:
    (_, inline_token, _) = MarkdownIt("commonmark").parse(f"x {escape_markdown_line(text)} x")
    assert {child.type for child in inline_token.children or ()} <= {"text"}


def test_inline_keeps_names_readable() -> None:
    assert escape_markdown_line("seat_timeout is *10* | <b>") == r"seat_timeout is \*10\* \| \<b\>"


# --- the transcript -------------------------------------------------------------------------------

GOLDEN = """\
# REST or GraphQL?

**reached** · ended · council of claude, gpt, gemini · 2026-11-15 18:00 UTC · 2026-11-15-rest-or-graphql

**DEGRADED: counted 1 of 3.**

- No answer: **gemini**, timeout: No answer in 120 s. Wait longer.

## Decision

**reached**: All 2 counted seats agree. (counted 1 of 3: claude)

**A: Use REST**

In the words of **claude**:

> # Mine
> It caches.

### Votes

|  | Proposal | First from | Blind vote | Final |
| --- | --- | --- | --- | --- |
| **A** | Use REST | claude | 1 | 2 |

Based on: council/1-blind.

## Rounds

### council/1-blind

*counted 1 of 1*

#### claude

*via lab:claude · 1.5 s · 80% sure*

Position: **Use REST**

> # Mine
> It caches.

## Cost

|  | Calls | Failed | Tokens in | Cached | Tokens out | Cost |
| --- | --- | --- | --- | --- | --- | --- |
| claude | 1 | 0 | 1,000 | 20% | 100 | $0.0100 |
| gpt | 0 | 0 | 0 | – | 0 | – |
| gemini | 0 | 0 | 0 | – | 0 | – |
| council/1-blind | 1 | 0 | 1,000 | 20% | 100 | $0.0100 |
| total | 1 | 0 | 1,000 | 20% | 100 | $0.0100 |
"""


def test_a_transcript_has_its_exact_text() -> None:
    session = session_of(
        session_opened(),
        RunStarted("host:1:2:3"),
        round_opened(BLIND, ("claude",)),
        move_made(BLIND, "claude", "# Mine\nIt caches.", Verdict(position="Use REST", confidence=0.8)),
        RoundClosed(BLIND, "all", ("claude",)),
        decision_made(
            winner="A",
            position="Use REST",
            text="# Mine\nIt caches.",
            author="claude",
            counted=("claude",),
            missing=(Absence("gemini", SLOW),),
            proposals=(Proposal("A", "Use REST", ("claude",)),),
            blind_vote={"A": 1},
            tally={"A": 2},
            basis=(BLIND,),
        ),
        SessionEnded("reached"),
    )
    assert render_transcript(session) == GOLDEN


def test_a_transcript_contains_every_part_of_a_session() -> None:
    text = render_transcript(full_session())
    assert text.index("DEGRADED: counted 2 of 3") < text.index("## Decision") < text.index("## Rounds")
    for part in (
        "No answer: **gemini**, quota: No credit left. The account has no credit left.",
        "> Use REST.\n>\n> It caches.",
        "| B | Use GraphQL | gpt | 1 | 0 |",
        "### Minority report\n\n**gpt** holds: Use GraphQL\n\n> I keep\n> my reasons.",
        "These seats changed their position without a reason, so their blind position was counted: gpt.",
        "Text before the failure:\n\n> I was about",
        "Rates A same, B opposed",
        "*counted 1 of 2, closed by deadline, quorum not reached*",
        "**Note from maria to gpt:**\n\n> Mind the *mobile* clients.",
        "Because: I forgot caches; 304 (RFC 9111)",
        "*late, not counted · via lab:claude · 1.5 s · unreadable*",
        "**choose**: Which one? (A, B, none): **A**, by maria\n\n> because",
        "- File added: api.md (1,234 bytes)",
        "- Renamed to api",
        "- Round council/4-reconsider was not held: $1.25 is spent, and the budget is $1.00",
    ):
        assert part in text
    assert text.index(BALLOT) < text.index("Note from maria") < text.index(AGAIN, text.index("Note from maria"))


def test_model_text_cannot_forge_a_transcript() -> None:
    honest = [token for token in tokens(render_transcript(full_session("x"))) if token[1] == 0]
    nasty = render_transcript(full_session(NASTY))
    assert [token for token in tokens(nasty) if token[1] == 0] == honest
    assert nasty == sanitize_text(nasty)
    assert "> </script>" not in nasty


def test_a_long_question_is_quoted_in_full() -> None:
    text = render_transcript(session_of(session_opened("First line\n# second <b>line</b>", options=("a*", "b"))))
    assert text.startswith("# First line # second \\<b\\>line\\</b\\>\n\n> First line\n> # second \\<b>line\\</b>\n\n")
    assert "Options: a\\*, b" in text
    assert "not started" in text


def test_one_round_is_rendered_as_markdown() -> None:
    session = full_session()
    text = render_round_as_markdown(session.find_round("1"))
    assert text.startswith("### council/1-blind\n")
    assert "council/2" not in text
    assert session.find_round("2-ballot").name == session.find_round(BALLOT).name == BALLOT
    with pytest.raises(NotFound) as caught:
        session.find_round("9")
    assert caught.value.message == "This session has no round 9."
    assert BLIND in caught.value.help


def test_an_unfinished_session_is_rendered() -> None:
    session = session_of(
        session_opened(),
        RunStarted("host:1:2:3"),
        round_opened(BLIND),
        TurnAsked(BLIND, "claude", f"{BLIND}/claude#1", "lab:claude", 3),
        TurnAsked(BLIND, "gpt", "g#1", "lab:gpt", 3),
        TurnInterrupted(BLIND, "gpt", "g#1", "Half a"),
        CancelAsked("maria", "wrong question"),
    )
    text = render_transcript(session)
    assert "*still open*" in text
    assert "Interrupted after:\n\n> Half a" in text
    assert "- Cancelled by maria: wrong question" in text
    assert session.seat_states == {"claude": "asked", "gpt": "interrupted", "gemini": "waiting"}
    assert "| gpt | 1 | 1 | 0 | – | 0 | unknown |" in text


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((), "not started"),
        ((RunStarted("h:1:2:3"),), "not finished"),
        ((RunStarted("h:1:2:3"), RunStopped("interrupted")), "stopped (interrupted), can be resumed"),
        ((GateOpened(Gate("go", "Go on?", ("yes", "no"), "no")),), "waiting for an answer to gate go"),
        ((CancelAsked(),), "being cancelled"),
        ((decision_made(),), "decided, not closed yet"),
    ],
)
def test_the_status_is_explained_in_words(events: tuple[Event, ...], words: str) -> None:
    assert describe_session_status(session_of(session_opened(), *events)) == words


# --- the page -------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Collects tags, attributes and text the way a browser would."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def test_a_page_is_a_single_file_without_requests() -> None:
    html = render_session_page(full_session())
    read = read_page(html)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(read.tags)
    assert not {"src", "href", "action"} & set(read.attributes)
    assert "default-src 'none'; style-src 'unsafe-inline'" in read.attributes["content"]
    assert "url(" not in html
    assert "@import" not in html
    assert html.index("DEGRADED") < html.index("In the words of") < html.index("<h2>Rounds")


def test_a_page_contains_what_the_transcript_contains() -> None:
    read = read_page(render_session_page(full_session()))
    for part in (
        "counted 2 of 3",
        "No credit left.",
        "Use REST.\n\nIt caches.",
        "I keep\nmy reasons.",
        "I was about",
        "Note from maria to gpt",
        "late, not counted",
        "Because: I forgot caches; 304 (RFC 9111)",
        "council/4-reconsider was not held",
        "A, by maria",
    ):
        assert part in read.text


def test_model_text_cannot_forge_a_page() -> None:
    honest, nasty = (
        read_page(render_session_page(full_session("x"))),
        read_page(render_session_page(full_session(NASTY))),
    )
    assert nasty.tags == honest.tags
    assert nasty.attributes == honest.attributes
    assert "</script><script>alert(1)</script>" in nasty.text
    assert nasty.text == sanitize_text(nasty.text)


def test_one_round_is_rendered_as_a_page() -> None:
    session = full_session()
    text = read_page(render_round_page(session, session.find_round(AGAIN))).text
    assert AGAIN in text
    assert BLIND not in text


def test_a_seat_keeps_the_colour_it_was_given() -> None:
    seats = (Seat("a", ("lab:a",), color="red"), Seat("b", ("lab:b",), color='"><script>'))
    html = render_session_page(session_of(SessionOpened(Charter("Q?", seats, "council", 1))))
    assert '<span class="who s3">a</span>' in html
    assert '<span class="who s1">b</span>' in html


# --- data -----------------------------------------------------------------------------------------


def test_a_summary_is_plain_data_with_a_version() -> None:
    data = report_session_as_data(full_session(NASTY), texts=True)
    assert json.loads(json.dumps(data)) == data == json.loads(msgspec.json.encode(data))
    assert data["v"] == 1
    assert (data["id"], data["name"], data["status"]) == ("s-1", "api", "reached")
    assert (data["round"], data["seq"], data["degraded"], data["open_gate"]) == (AGAIN, 23, True, None)
    assert {seat["name"]: seat["state"] for seat in data["seats"]} == {
        "claude": "late",
        "gpt": "answered",
        "gemini": "missing",
    }
    assert data["decision"]["blind_vote"] == {"A": 1, "B": 1}
    assert data["decision"]["missing"][0]["fault"]["kind"] == "quota"
    assert data["rounds"][0]["turns"][0]["text"] == sanitize_text(NASTY)
    assert data["rounds"][0]["turns"][2]["partial"] == "I was about"
    assert "\x1b" not in json.dumps(data, ensure_ascii=False)


def test_a_summary_without_texts_is_short() -> None:
    turns = [turn for record in report_session_as_data(full_session())["rounds"] for turn in record["turns"]]
    assert not any("text" in turn for turn in turns)
    assert report_round_as_data(full_session().find_round(BLIND), texts=True)["turns"][1]["text"].startswith("GraphQL")


def test_a_summary_of_a_session_that_waits() -> None:
    gate = Gate("go", "Go on?", ("yes", "no"), "no")
    data = report_session_as_data(session_of(session_opened(), GateOpened(gate)))
    assert (data["status"], data["round"], data["decision"], data["degraded"]) == ("waiting", None, None, False)
    assert data["open_gate"]["options"] == ["yes", "no"]
    assert data["usage"]["total"]["cost_usd"] is None


def test_seats_that_are_switched_off_are_marked() -> None:
    session = session_of(session_opened(), SessionAmended(seats_off=("gpt",), limits=Limits(rounds=1)))
    assert session.seat_states["gpt"] == "off"
    assert "- Seat switched off: gpt\n- Limits changed" in render_transcript(session)
