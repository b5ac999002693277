"""Every reader of untrusted text, by name. A reader returns what is wrong with what it read, or an empty text."""

from __future__ import annotations

import contextlib
import functools
import random
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from roundtable.app.settings.config import parse_config
from roundtable.core.changeset import DraftFile, EditBlock, HunkChoice
from roundtable.core.faults import RoundtableError
from roundtable.core.refusals import Refusal
from roundtable.core.replies import CODECS, parse_seat_reply
from roundtable.core.replies.prose import ProseStream, strip_reply_thoughts
from roundtable.core.text import quotation, sanitize, wording
from roundtable.core.text.diffs import split_diff_text_by_file
from roundtable.core.text.file_names import is_generated_file_name, is_sensitive_file_name, is_test_file_name
from roundtable.core.text.redaction import RedactedStream, Redactor
from roundtable.core.text.slugs import make_slug_from_text
from roundtable.core.text.strict_toml import parse_toml_text, parse_toml_with_depth_limit
from roundtable.core.usage import Usage, is_plausible_usage
from roundtable.core.values import Expect
from roundtable.core.verdict import ParseStatus, Stance
from roundtable.voices.agents.acp import AcpConversation, AcpTurn, adapt_agent_cli_to_acp
from roundtable.voices.agents.catalog import load_shipped_agent_clis
from roundtable.voices.agents.output_rules import OutputReader
from roundtable.voices.dialects.anthropic import AnthropicReplyReader
from roundtable.voices.dialects.dialect import ReplyReader
from roundtable.voices.dialects.gemini import GeminiReplyReader
from roundtable.voices.dialects.openai_chat import OpenAIChatReplyReader
from roundtable.voices.dialects.openai_responses import OpenAIResponsesReplyReader
from roundtable.voices.http_client import parse_provider_retry_after
from roundtable.voices.provider_text import excerpt_provider_text
from roundtable.voices.reply_stream import ReplyStream
from roundtable.workshop.edit.hunks import apply_accepted_hunks, split_edits_into_hunks
from roundtable.workshop.edit.path_rules import check_write_path
from roundtable.workshop.edit.text_match import UnmatchedBlock, apply_edit_blocks
from roundtable.workshop.edit.validation import validate_edited_files
from roundtable.workshop.project.container_scan import scan_project_container_files
from roundtable.workshop.project.run_plan import parse_project_run_plan
from roundtable.workshop.trial.task_examples import extract_trial_examples_from_task
from roundtable.workshop.trial.test_counts import parse_trial_test_count
from tests.fuzz.prompts import find_misplaced_tag, load_templates, render_hostile_prompts
from tests.fuzz.seeds import CHOICES, random_block

Reader = Callable[[str], str]

SECRET = "kA9-zQ3wX7vB5nM1"
_STRUCTURAL_TAGS = ("answer", "check", "context", "memory", "note", "question")
_OPENING_TAG = re.compile(rf"<\s*(?:{'|'.join(_STRUCTURAL_TAGS)})\s[^<>]{{0,100}}\bfrom\s*=", re.IGNORECASE)
_REDACTOR = Redactor([SECRET])
_DIALECTS: tuple[type[ReplyReader], ...] = (
    AnthropicReplyReader,
    GeminiReplyReader,
    OpenAIChatReplyReader,
    OpenAIResponsesReplyReader,
)


def _dice_of(text: str) -> random.Random:
    """Chances that depend on the text only."""
    return random.Random(text.encode(errors="replace"))


def _read_by_codec(name: str, structured: bool, choices: tuple[str, ...], text: str) -> str:
    reading = parse_seat_reply(Expect(name, choices), sanitize.replace_surrogates_in_text(text), structured)
    if reading.verdict.parse is ParseStatus.FAILED and reading.verdict.stance is not Stance.UNKNOWN:
        return f"an unreadable reply takes the stance {reading.verdict.stance}"
    msgspec.json.encode(reading)
    return ""


def _read_quoted(name: str, choices: tuple[str, ...], text: str) -> str:
    """A vote in a block quote is the vote of somebody else."""
    if name in ("free", "changes", "changes-in-parts"):
        return ""
    plain = re.sub(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "", text)
    quoted = "\n".join(f"> {line}" for line in plain.split("\n"))
    verdict = parse_seat_reply(Expect(name, choices), quoted, structured=False).verdict
    return f"a quoted reply counts as {verdict!r}" if verdict.counts else ""


def _read_truncated(name: str, text: str) -> str:
    """A reply of which the end is missing does not agree where the whole one does not."""
    dice = _dice_of(text)
    whole = random_block(dice, name)
    cut = whole[: dice.randrange(len(whole))]
    first, second = (parse_seat_reply(Expect(name, CHOICES), reply, structured=True).verdict for reply in (whole, cut))
    agrees = second.counts and second.stance is Stance.SUPPORT
    if agrees and not (first.counts and first.stance is Stance.SUPPORT):
        return f"{cut!r} of {whole!r} counts as {second!r}"
    return ""


def _read_prose_stream(text: str) -> str:
    whole, pieces = ProseStream("answer"), ProseStream("answer")
    said = whole.feed(text)
    return "" if said == "".join(map(pieces.feed, text)) else "the prose depends on how the reply was cut"


def _read_redacted_stream(text: str) -> str:
    text = text.replace("@", SECRET)
    stream = RedactedStream(_REDACTOR)
    step = max(7, len(text) // 50)
    shown = "".join(stream.feed(text[start : start + step]) for start in range(0, len(text), step)) + stream.finish()
    if shown != _REDACTOR.redact(text):
        return "the redacted text depends on how the text was cut"
    return f"the secret is shown: {shown!r}" if SECRET in shown else ""


def _read_sanitized(text: str) -> str:
    clean = sanitize.sanitize_text(text)
    sanitize.sanitize_line(text, 80)
    sanitize.reveal_hidden_characters(text)
    return "an escape character is shown" if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", clean) else ""


def _read_quotation(text: str) -> str:
    quotation.quote_markdown(text)
    quotation.escape_markdown_line(text, 300)
    wording.fence_code_as_markdown(text)
    return ""


def _read_fenced(text: str) -> str:
    """Quoted text opens and closes no structural tag."""
    for tag in _STRUCTURAL_TAGS:
        inside = quotation.fence_untrusted_text(tag, text[:300], text).split("\n", 1)[1].rpartition("\n")[0]
        if match := _OPENING_TAG.search(inside) or re.search(rf"<\s*/\s*{tag}(?![\w.:-])", inside, re.IGNORECASE):
            return f"the tag {match[0]!r} is inside quoted text"
    return ""


def _read_words(text: str) -> str:
    wording.content_words_of_text(text)
    wording.join_text_lines(text)
    make_slug_from_text(text, "2026-11-15")
    return ""


def _read_names(text: str) -> str:
    for line in (text, *text.split("\n")[:5]):
        is_sensitive_file_name(line)
        is_generated_file_name(line)
        is_test_file_name(line)
        check_write_path(line)
    return ""


def _read_toml(text: str) -> str:
    for json in (False, True):
        try:
            parse_toml_text(text.encode(errors="replace"), "config.toml", json=json)
        except RoundtableError:
            continue
    return ""


def _read_config(text: str) -> str:
    with contextlib.suppress(RoundtableError, tomllib.TOMLDecodeError):
        parse_config(parse_toml_with_depth_limit(text), Path("config.toml"))
    return ""


def _match_edits(text: str) -> None:
    half = len(text) // 2
    with contextlib.suppress(UnmatchedBlock):
        apply_edit_blocks(text, [EditBlock(text[half // 2 : half], "new\n"), EditBlock(text[half:], "")])


def _read_edits(text: str) -> str:
    """Edits are found or refused, and accepting all hunks of a draft gives the draft."""
    _match_edits(text)
    half = len(text) // 2
    before, after = text[:half].encode(errors="replace"), text[half:].encode(errors="replace")
    files = (DraftFile("notes.txt", before=before, after=after), DraftFile("a.py", before=None, after=after))
    validate_edited_files(files)
    changed = [file for file in files if file.before != file.after]
    accepted = apply_accepted_hunks(files, HunkChoice())
    if isinstance(accepted, Refusal) or [file.after for file in accepted] != [file.after for file in changed]:
        return f"all hunks together give {accepted}"
    rejected = apply_accepted_hunks(files, HunkChoice(tuple(hunk.id for hunk in split_edits_into_hunks(files))))
    return f"no hunk gives {rejected}" if rejected else ""


def _read_prompt(text: str) -> str:
    """The words of others open and close no structural tag, whatever the template."""
    templates = sorted(load_templates())
    words = sanitize.replace_surrogates_in_text(text)
    for message in render_hostile_prompts(_dice_of(text).choice(templates), words):
        if message.role != "assistant" and (problem := find_misplaced_tag(message.text)):
            return problem
    return ""


def _pieces(data: bytes, dice: random.Random) -> Iterator[bytes]:
    most = max(4, len(data) // 50)
    start = 0
    while start < len(data):
        size = dice.randrange(1, most)
        yield data[start : start + size]
        start += size


def _read_stream(dialect: type[ReplyReader], text: str) -> str:
    data = text.encode(errors="replace")
    endings: list[tuple[str, object]] = []
    for pieces in ((data,), _pieces(data, random.Random(len(data)))):
        stream = ReplyStream("lab:model", "", dialect())
        words = "".join(map(stream.feed, pieces))
        ending = stream.build_ending(10)
        endings.append((words, ending))
        if problem := _implausible_usage(ending.usage):
            return problem
    stream = ReplyStream("lab:model", "", dialect())
    stream.read_whole(data)
    stream.build_ending(10)
    return "" if endings[0] == endings[1] else f"the reply depends on how it was cut: {endings}"


def _implausible_usage(used: Usage) -> str:
    return "" if is_plausible_usage(used) else f"the usage is {used}"


def _read_agent_output(name: str, text: str) -> str:
    agent = load_shipped_agent_clis()[name]
    readers: Iterable[OutputReader] = [OutputReader(agent, held=False), OutputReader(agent, held=True)]
    if agent.acp is not None:
        readers = [
            *readers,
            AcpConversation(adapt_agent_cli_to_acp(agent), AcpTurn("question", "/work", "plan", "model")),
        ]
    for reader in readers:
        for line in text.encode(errors="replace").split(b"\n"):
            reader.read_line(line)
            reader.take_replies()
        if problem := _implausible_usage(reader.usage):
            return problem
    return ""


def _read_container_files(text: str) -> str:
    scan_project_container_files({"Dockerfile": text, "compose.yaml": text})
    parse_project_run_plan(text)
    return ""


def _read_output(text: str) -> str:
    parse_trial_test_count(text)
    extract_trial_examples_from_task(text)
    excerpt_provider_text(text, SECRET)
    parse_provider_retry_after(text)
    return ""


def _plain(read: Callable[[str], object]) -> Reader:
    """A reader that only must not fail."""

    def read_and_forget(text: str) -> str:
        read(text)
        return ""

    return read_and_forget


def _codec_readers() -> Iterator[tuple[str, Reader]]:
    for name, codec in sorted(CODECS.items()):
        for choices in ((), CHOICES, CHOICES[2:3]):
            label = f"{name} of {len(choices)}"
            yield label, functools.partial(_read_by_codec, name, False, choices)
            yield f"{label}, quoted", functools.partial(_read_quoted, name, choices)
            if codec.read_json is not None:
                yield f"{label}, structured", functools.partial(_read_by_codec, name, True, choices)
        if codec.schema is not None:
            yield f"{name}, truncated", functools.partial(_read_truncated, name)


READERS: dict[str, Reader] = {
    **dict(_codec_readers()),
    "thoughts": _plain(strip_reply_thoughts),
    "prose stream": _read_prose_stream,
    "redaction": _read_redacted_stream,
    "sanitizing": _read_sanitized,
    "quotation": _read_quotation,
    "prompt fences": _read_fenced,
    "words": _read_words,
    "file names": _read_names,
    "diffs": _plain(split_diff_text_by_file),
    "TOML": _read_toml,
    "config": _read_config,
    "edits": _read_edits,
    "prompt builder": _read_prompt,
    "container files": _read_container_files,
    "program output": _read_output,
    **{f"events of {each.__name__}": functools.partial(_read_stream, each) for each in _DIALECTS},
    **{f"output of {name}": functools.partial(_read_agent_output, name) for name in sorted(load_shipped_agent_clis())},
}
