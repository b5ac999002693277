"""Tags in replies as real models write them, and words that only look like tags."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.verdict import Directives, Findings, Issue, ParseStatus, Stance, Verdict
from tests.core.cases import heard, verdict

SEATS = ["claude", "gpt-4.1", "gpt"]
DEBATE = "agree-object-add"
SUPPORT, OPPOSE, AMEND, UNKNOWN = Stance.SUPPORT, Stance.OPPOSE, Stance.AMEND, Stance.UNKNOWN


@pytest.mark.parametrize(
    ("reply", "stance", "target"),
    [
        ("AGREE: claude", SUPPORT, "claude"),
        ("Some prose.\nAGREE: [Claude] it's right", SUPPORT, "claude"),
        ("**AGREE:** GPT-4.1, because", SUPPORT, "gpt-4.1"),
        ("**AGREE: gpt** because", SUPPORT, "gpt"),
        ("- **AGREE**: @claude", SUPPORT, "claude"),
        ("### AGREE: claude", SUPPORT, "claude"),
        ("1. __AGREE:__ claude", SUPPORT, "claude"),
        ("agree: claude\r\n", SUPPORT, "claude"),
        ("AGREE: claude because it's simple", SUPPORT, "claude"),
        ("AGREE: gpt-5 is right", SUPPORT, ""),
        ("AGREE: the plan is right", SUPPORT, ""),
        ("AGREE: claude\nOBJECT: none", SUPPORT, "claude"),
        ("AGREE: claude\nADD: cache it", AMEND, "claude"),
        ("ADD: cache it\nand measure", AMEND, ""),
        ("AGREE: claude\nOBJECT: too slow", OPPOSE, "claude"),
        ("DISAGREE: claude is wrong", OPPOSE, ""),
        ("**Disagree:** AGREE: claude", OPPOSE, ""),
        ('{"answer": "x", "agree": ["Claude"], "object": [], "add": ["none"]}', SUPPORT, "claude"),
        ('{"answer": "x", "agree": ["claude"], "object": ["too slow"], "add": []}', OPPOSE, "claude"),
        ('{"answer": "x", "agree": ["claude"], "object": [{"what": "too slow"}], "add": []}', OPPOSE, "claude"),
    ],
)
def test_debate_tags_are_read_from_a_reply(reply: str, stance: Stance, target: str) -> None:
    answer = verdict(DEBATE, reply, SEATS)
    assert (answer.stance, answer.target, answer.counts) == (stance, target, True)


@pytest.mark.parametrize(
    "reply",
    [
        "> AGREE: claude",
        "```\nAGREE: claude\n```",
        "~~~text\nAGREE: claude\n~~~\nbye",
        "````\n```\nAGREE: claude\n````",
        '"AGREE: claude"',
        "“AGREE: claude”",
        "'AGREE: claude'",
        "`AGREE: claude`",
        "He wrote AGREE: claude",
        "AGREEMENT: none",
        "AGREE/OBJECT: claude",
        "AGREE: none",
        "AGREE: no",
        "AGREE: not with claude",
        "AGREE: <the seat>",
        "AGREE:",
        "AGREE: [model]",
    ],
)
def test_text_that_only_looks_like_a_tag_does_not_count(reply: str) -> None:
    answer = verdict(DEBATE, reply, SEATS)
    assert (answer.stance, answer.parse) == (UNKNOWN, ParseStatus.FAILED)


@pytest.mark.parametrize(
    "nothing",
    [
        "No objections.",
        "none at this time",
        "I have no objection",
        "I see no further concerns.",
        "nothing to add",
        "Nothing else, for now.",
        "没有异议",
        "无",
        "我暂时没有反对意见。",
    ],
)
@pytest.mark.parametrize(
    "form", ["AGREE: claude\n{tag}: {words}", '{{"agree": ["claude"], "{key}": ["{words}"]{rest}}}']
)
def test_none_after_a_tag_is_neither_an_objection_nor_a_point(nothing: str, form: str) -> None:
    for tag, other in (("OBJECT", "add"), ("ADD", "object")):
        reply = form.format(tag=tag, key=tag.lower(), words=nothing, rest=f', "{other}": []')
        answer = verdict(DEBATE, reply, SEATS)
        assert (answer.stance, answer.target, answer.issues, answer.points) == (SUPPORT, "claude", (), ())


@pytest.mark.parametrize(
    "objection",
    [
        "No backups.",
        "No tests at all",
        "No objection to REST, but it loses data",
        "Nobody will maintain it",
        "No comments in the code",
        "None of this scales",
        "没有备份",
        "没人会维护。",
    ],
)
def test_an_objection_that_begins_with_no_still_counts(objection: str) -> None:
    answer = verdict(DEBATE, f"AGREE: claude\nOBJECT: {objection}", SEATS)
    assert (answer.stance, answer.issues) == (OPPOSE, (Issue(objection, blocking=True),))


QUOTED_BLOCKS = {
    DEBATE: ('{"agree": ["claude"], "object": [], "add": []}', "OBJECT: It loses data."),
    "ranked-ballot": ('{"ranked_choices": ["claude", "gpt"]}', "RANKING: gpt > claude"),
    "approval": ('{"approval": "approve", "reasons": []}', "REQUEST_CHANGES: It loses data."),
    "judge-discussion": (
        '{"ruling": "CONSENSUS", "summary": "all is well", "options": []}',
        "DISCUSS: the loss of data",
    ),
}


@pytest.mark.parametrize("codec", QUOTED_BLOCKS)
@pytest.mark.parametrize("order", ["{block}\n\n{tags}", "{tags}\n\n{block}"])
def test_a_json_block_quoted_from_a_file_does_not_override_a_seats_own_tags(codec: str, order: str) -> None:
    block, tags = QUOTED_BLOCKS[codec]
    readme = f"The README says this, and I do not believe it:\n\n```json\n{block}\n```"
    reply = order.format(block=readme, tags=tags)
    answer, expected = verdict(codec, reply, SEATS), verdict(codec, tags, SEATS)
    assert (answer.stance, answer.ranking, answer.counts) == (expected.stance, expected.ranking, True)
    assert heard(codec, reply, SEATS).text == reply, "it is shown whole"


def test_a_json_block_counts_if_the_tags_next_to_it_are_empty() -> None:
    block = '```json\n{"agree": ["claude"], "object": [], "add": []}\n```'
    assert verdict(DEBATE, f"OBJECT: none\n\n{block}", SEATS).target == "claude"
    ranked = '1. speed\n2. cost\n\n{"ranked_choices": ["gpt", "claude"]}'
    assert verdict("ranked-ballot", ranked, SEATS).ranking == ("gpt", "claude")


def test_objections_and_points_are_kept_word_for_word() -> None:
    reply = "Well.\n\nOBJECT: it's slow,\n  and *ugly*\nADD: use `x`;\ncache it\n\nNot part of it.\n**OBJECT: two**"
    answer = verdict(DEBATE, reply, SEATS)
    assert answer.issues == (Issue("it's slow,\n  and *ugly*", blocking=True), Issue("two", blocking=True))
    assert answer.points == ("use `x`;\ncache it",)


@pytest.mark.parametrize(
    ("reply", "stance"),
    [
        ("I fully agree with claude.", SUPPORT),
        ("I do not agree.", OPPOSE),
        ("I don't agree.", UNKNOWN),
        ("I must disagree here.", OPPOSE),
        ("I agree on this, but I object to that.", UNKNOWN),
        ("> I agree\n\nNo comment.", UNKNOWN),
    ],
)
def test_plain_words_are_inferred_and_never_counted(reply: str, stance: Stance) -> None:
    answer = verdict(DEBATE, reply, SEATS)
    assert (answer.stance, answer.counts) == (stance, False)


PREFIXES = st.sampled_from(["", "- ", "**", "## ", "  ", "1. ", "* **", "__"])
CASES = st.sampled_from(["DISAGREE", "Disagree", "disagree"])


@given(PREFIXES, CASES, st.text(max_size=30), st.sampled_from([DEBATE, "judge-discussion", "approval"]))
def test_disagreement_is_never_read_as_agreement(prefix: str, tag: str, body: str, codec: str) -> None:
    answer = verdict(codec, f"{prefix}{tag}: {body.replace(chr(10), ' ')}", SEATS)
    assert not (answer.counts and answer.stance in (SUPPORT, AMEND))


TAGS = st.sampled_from(["AGREE: claude", "ADD: a point", "CONSENSUS: yes", "APPROVE", "RANKING: claude > gpt"])
QUOTERS = st.sampled_from(["> {}", "   > {}", "```\n{}\n```", "~~~\n{}\n~~~", '"{}"', "“{}”", "‘{}’", "`{}`", "- > {}"])
CODECS = st.sampled_from([DEBATE, "judge-discussion", "approval", "ranked-ballot"])


@given(TAGS, QUOTERS, CODECS, st.sampled_from(["", "They said:\n", "x\n\n"]))
def test_quoted_tags_never_count(tag: str, quoter: str, codec: str, before: str) -> None:
    assert not verdict(codec, before + quoter.format(tag), SEATS).counts


@pytest.mark.parametrize(
    ("reply", "stance", "summary", "options"),
    [
        ("CONSENSUS: use REST", SUPPORT, "use REST", ()),
        ("Reasons.\n\n**Consensus:** use REST\n\nwith care", SUPPORT, "use REST\n\nwith care", ()),
        ("DISCUSS: REST; GraphQL", AMEND, "REST; GraphQL", ("REST", "GraphQL")),
        ("## DISCUSS:\n- REST\n- GraphQL", AMEND, "- REST\n- GraphQL", ("REST", "GraphQL")),
        ("DISCUSS: REST | GraphQL", AMEND, "REST | GraphQL", ("REST", "GraphQL")),
        ("CONSENSUS: draft\nDISCUSS: the rest", AMEND, "the rest", ("the rest",)),
        ("DISCUSS: a\nCONSENSUS: b", SUPPORT, "b", ()),
        ("CONSENSUS: b\nDISCUSS: none", SUPPORT, "b", ()),
        ('{"ruling": "consensus", "summary": "use REST", "options": []}', SUPPORT, "use REST", ()),
        ('{"ruling": "DISCUSS", "summary": "", "options": ["a"]}', AMEND, "", ("a",)),
    ],
)
def test_a_judges_ruling_on_a_discussion_is_read_from_a_reply(
    reply: str, stance: Stance, summary: str, options: tuple[str, ...]
) -> None:
    answer = verdict("judge-discussion", reply)
    assert (answer.stance, answer.summary, answer.options, answer.counts) == (stance, summary, options, True)


@pytest.mark.parametrize("codec", ["judge-discussion", "judge-merge", "judge-review"])
@pytest.mark.parametrize(
    "reply", ["", "We have CONSENSUS: yes", "NO CONSENSUS: x", "> CONSENSUS: x", "CONSENSUS:", "ok"]
)
def test_words_that_are_not_a_ruling_are_not_read_as_one(codec: str, reply: str) -> None:
    assert verdict(codec, reply) == Verdict(parse=ParseStatus.FAILED)


MERGED = Directives("claude", ("gpt's tests", "docs"), ("the leak: free it",))


@pytest.mark.parametrize(
    "reply",
    [
        "CONSENSUS: BASE=claude. INCORPORATE: gpt's tests; docs MUST_FIX: the leak: free it",
        "consensus: base=Claude. incorporate: gpt's tests; docs. must_fix: the leak: free it",
        "**CONSENSUS:** **BASE=Claude.**\n**INCORPORATE:**\n- gpt's tests\n- docs\n\n"
        "**MUST FIX:**\n1. the leak: free it",
        "CONSENSUS:\nBASE: [claude]\nINCORPORATE: gpt's tests; docs\nMUST_FIX: the leak: free it\n",
        '{"ruling": "CONSENSUS", "base": "CLAUDE", "incorporate": ["gpt\'s tests", "docs"],'
        ' "must_fix": ["the leak: free it"], "options": []}',
    ],
)
def test_a_judges_merge_ruling_is_read_from_a_reply(reply: str) -> None:
    answer = verdict("judge-merge", reply, SEATS)
    assert answer.stance is SUPPORT
    assert answer.directives is not None
    assert (answer.directives.base, answer.directives.must_fix) == (MERGED.base, MERGED.must_fix)
    assert tuple(point.rstrip(".") for point in answer.directives.incorporate) == MERGED.incorporate


@pytest.mark.parametrize(
    ("reply", "base"),
    [
        ("CONSENSUS: BASE=gpt-4.1. INCORPORATE: none MUST_FIX: none", "gpt-4.1"),
        ("CONSENSUS: BASE=mistral. INCORPORATE: x MUST_FIX: y", None),
        ("CONSENSUS: INCORPORATE: x MUST_FIX: y", None),
        ("CONSENSUS: take claude's", None),
        ("CONSENSUS:\n> BASE=claude.\n", None),
        ('{"ruling": "CONSENSUS", "base": "claude", "incorporate": []', None),
    ],
)
def test_the_base_of_a_merge_ruling_must_be_a_candidate(reply: str, base: str | None) -> None:
    answer = verdict("judge-merge", reply, SEATS)
    assert answer.directives == (Directives(base) if base else None)
    assert answer.counts == bool(base)


def test_any_base_is_accepted_if_no_candidates_are_given() -> None:
    answer = verdict("judge-merge", "CONSENSUS: BASE=llama-3.1. INCORPORATE: none MUST_FIX: none")
    assert answer.directives == Directives("llama-3.1")


def test_a_judges_ruling_on_a_review_is_read_from_a_reply() -> None:
    reply = "CONSENSUS: CRITICAL: a; b WARNINGS: this is critical: c CONFIRMED_CLEAN: auth"
    findings = Findings(("a", "b"), ("this is critical: c",), ("auth",))
    assert verdict("judge-review", reply).findings == findings
    lines = (
        "**CONSENSUS**:\n### Critical:\n- a\n- b\n\n### Warnings:\n- this is critical: c\n### Confirmed clean:\n- auth"
    )
    assert verdict("judge-review", lines).findings == findings
    assert verdict("judge-review", "CONSENSUS: CRITICAL: none\nWARNINGS: None.").findings == Findings()
    assert verdict("judge-review", "CONSENSUS: all is well").parse is ParseStatus.FAILED
    assert verdict("judge-review", "DISCUSS: a; b").stance is AMEND


@pytest.mark.parametrize(
    ("reply", "stance", "reasons"),
    [
        ("APPROVE", SUPPORT, ()),
        ("Fine.\n\n**APPROVE**", SUPPORT, ()),
        ("Approve.", SUPPORT, ()),
        ("APPROVE: well tested", SUPPORT, ("well tested",)),
        ("ABSTAIN", Stance.ABSTAIN, ()),
        ("REQUEST_CHANGES: it's slow; no tests", OPPOSE, ("it's slow", "no tests")),
        ("**Request changes:**\n- it's slow\n- no tests", OPPOSE, ("it's slow", "no tests")),
        ("REQUEST_CHANGES: x\n\nAPPROVE once this is mended", OPPOSE, ("x", "APPROVE once this is mended")),
        ("APPROVE\nREQUEST_CHANGES: none", SUPPORT, ()),
        ("APPROVE\n\nNo, wait.\n\nREQUEST_CHANGES: x", OPPOSE, ("x",)),
        ('{"approval": "request changes", "reasons": ["x"]}', OPPOSE, ("x",)),
        ('{"approval": "Approve", "reasons": []}', SUPPORT, ()),
    ],
)
def test_approvals_and_rejections_are_read_from_a_reply(reply: str, stance: Stance, reasons: tuple[str, ...]) -> None:
    answer = verdict("approval", reply)
    assert (answer.stance, answer.counts) == (stance, True)
    assert answer.points + tuple(issue.text for issue in answer.issues) == reasons
    assert all(issue.blocking for issue in answer.issues)


@pytest.mark.parametrize(
    "reply", ["", "APPROVED by nobody", "I APPROVE", "DISAPPROVE", '{"approval": "maybe"}', "> APPROVE"]
)
def test_a_reply_without_a_review_does_not_count(reply: str) -> None:
    assert verdict("approval", reply).parse is ParseStatus.FAILED


@pytest.mark.parametrize(
    ("reply", "ranking", "parse"),
    [
        ('{"ranked_choices": ["b", "A", "C"]}', "BAC", ParseStatus.EXACT),
        ('{"ranked_choices": ["B", "B", "Z", "A"]}', "BA", ParseStatus.REPAIRED),
        ('{"ranked_choices": ["B", "A', "B", ParseStatus.REPAIRED),
        ("RANKING: B > A > C", "BAC", ParseStatus.EXACT),
        ("**Ranking:** b > Option A > c.", "BAC", ParseStatus.EXACT),
        ("RANKING:\n1. B\n2. A", "BA", ParseStatus.EXACT),
        ("RANKING: A", "A", ParseStatus.EXACT),
        ("RANKING: **B**\n\nThe rest is worthless.", "B", ParseStatus.EXACT),
        ("1. B - it's simple\n2. **A**: fast\n3. C", "BAC", ParseStatus.EXACT),
        ("1. A better way is B\n2. B", "B", ParseStatus.REPAIRED),
        ("Why:\n1. A\n2. speed\n\nMy vote:\n1. C\n2. B", "CB", ParseStatus.EXACT),
        ("RANKING: A > B\n\nNo:\nRANKING: B > A", "BA", ParseStatus.EXACT),
    ],
)
def test_rankings_are_read_from_a_reply(reply: str, ranking: str, parse: ParseStatus) -> None:
    answer = verdict("ranked-ballot", reply, "ABC")
    assert ("".join(answer.ranking), answer.parse) == (ranking, parse)


@pytest.mark.parametrize("reply", ["", "A is best", '{"ranked_choices": []}', "RANKING: X > Y", "RANKING:", "> 1. A"])
def test_a_reply_without_a_ranking_is_not_a_ballot(reply: str) -> None:
    assert verdict("ranked-ballot", reply, "ABC").parse is ParseStatus.FAILED


def test_ids_of_any_form_can_be_ranked_without_given_choices() -> None:
    assert verdict("ranked-ballot", "RANKING: no change > **rest-api**").ranking == ("no change", "rest-api")


@pytest.mark.parametrize("codec", [DEBATE, "judge-merge", "approval", "ranked-ballot", "ratings", "position"])
@pytest.mark.parametrize("unit", [" ", "- ", "*", "_", "\n", "> ", "AGREE ", "CONSENSUS:\n", "1. ", "`", ";", "| "])
def test_long_runs_of_blank_text_are_read_quickly(codec: str, unit: str) -> None:
    started = time.perf_counter()
    verdict(codec, "CONSENSUS: AGREE:" + unit * 20_000 + "x\nAPPROVE" + unit * 20_000 + "x", SEATS)
    assert time.perf_counter() - started < 3


def test_a_tagged_reply_is_shown_whole() -> None:
    assert heard(DEBATE, "Well.\nAGREE: claude\n", SEATS).text == "Well.\nAGREE: claude"


@pytest.mark.parametrize(
    ("codec", "reply"),
    [
        ("judge-discussion", '{"answer": "x", "ruling": "CONSENSUS", "summary": "No obje'),
        ("judge-merge", '{"ruling": "CONSENSUS", "base": "P1", "incorporate": [], "must_fix": ["the lock",'),
        ("judge-review", '{"ruling": "CONSENSUS", "critical": [], "warnings": [], "confirmed_clean": ["all'),
        (DEBATE, '{"answer": "", "agree": ["P1"], "object": [], "add": ["",'),
    ],
)
def test_an_agreement_whose_end_was_cut_off_does_not_count(codec: str, reply: str) -> None:
    answer = heard(codec, reply, ("P1", "P2"), structured=True).verdict
    assert not answer.counts
    assert answer.stance is not Stance.SUPPORT
