"""Approve a plan at a terminal: each hunk with its request and its author, then a summary of the choices."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain, repeat, zip_longest
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec
from rich.console import Console, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from roundtable.core.change_history import HunkHistory, newest_session_change_plan, session_draft_authors
from roundtable.core.changeset import NO_NEWLINE_MARK, Hunk, HunkChoice
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Digest, Gate
from roundtable.live.hunk_approval import ASK, CONFIRM, NO, NONE, ApprovalAnswer, HunkApproval
from roundtable.report.change_words import (
    describe_hunk_place,
    describe_hunk_provenance,
    render_hunk_lines,
    render_hunk_provenance,
)

SIDE_BY_SIDE_COLUMNS = 100
"""Columns of a terminal that has room for both sides of a hunk."""
MAX_HIGHLIGHTED_CHARACTERS = 40_000
"""Longer texts are not highlighted, because highlighting them takes too long."""
SIGN_STYLES = {"-": "red", "+": "green", " ": ""}
CONTINUATION_SIGN = "↳"
"""Replaces the sign of a wrapped line, so that it is not read as an added, removed or unchanged line."""


def _render_hunk(hunk: Hunk, console: Console) -> RenderableType:
    """Render a hunk with its unchanged lines: side by side if there is room, otherwise as a diff."""
    lines = render_hunk_lines(hunk)
    above, below = lines[: len(hunk.above)], lines[len(lines) - len(hunk.below) :]
    sides = [[line for line in lines if line[0] == sign] for sign in "-+"]
    as_diff = console.width < SIDE_BY_SIDE_COLUMNS or console.color_system is None or not all(sides)
    room = console.width if as_diff else (console.width - 1) // 2
    before, after = (_highlight_diff(hunk.path, [*above, *side, *below], console, room) for side in sides)
    if as_diff:
        changed = [*before[: len(before) - len(below)], *after[len(above) :]]
        return Text("\n").join(changed)
    table = Table.grid(padding=(0, 1))
    for _ in range(2):
        table.add_column(width=room)
    # Unchanged lines below start on the same row on both sides, however many lines changed.
    start, end = len(above), len(below)
    middle = zip_longest(before[start : len(before) - end], after[start : len(after) - end], fillvalue=Text())
    unchanged = zip(before[len(before) - end :], after[len(after) - end :], strict=True)
    for old_row, new_row in (*zip(before[:start], after[:start], strict=True), *middle, *unchanged):
        table.add_row(old_row, new_row)
    return table


def _highlight_diff(path: str, lines: Sequence[str], console: Console, room: int) -> list[Text]:
    """Highlight the lines of a diff and wrap them to the given columns."""
    code = _highlight(path, [line[1:].expandtabs(4) for line in lines], console)
    return [_wrap_line(line[0], text, console, room) for line, text in zip(lines, code, strict=True)]


def _wrap_line(sign: str, code: Text, console: Console, room: int) -> Text:
    """Wrap a line after its coloured sign; the rest is aligned with the code."""
    rows = code.wrap(console, max(1, room - 2), overflow="fold")
    marks = chain([sign], repeat(CONTINUATION_SIGN))
    return Text("\n").join(Text(f"{mark} ", SIGN_STYLES[sign]) + row for mark, row in zip(marks, rows, strict=False))


def _highlight(path: str, lines: list[str], console: Console) -> list[Text]:
    code = "\n".join(lines)
    if console.no_color or console.color_system is None or len(code) > MAX_HIGHLIGHTED_CHARACTERS:
        return [Text(line) for line in lines]
    syntax = Syntax(code, Syntax.guess_lexer(path), theme="ansi_dark", background_color="default")
    colored = syntax.highlight(code).split("\n", allow_blank=True)
    return [colored[at] if at < len(colored) else Text(line) for at, line in enumerate(lines)]


ReadLine = Callable[[str], Awaitable[str | None]]
"""Prompts for a line of the terminal; None at its end."""

HUNK_KEYS = {
    "y": "approve the hunk",
    "n": "reject the hunk",
    "a": "approve the rest of this file",
    "d": "reject the rest of this file",
    "r": "approve all remaining hunks",
    "e": "edit the hunk",
    "t": "ask the table about the hunk",
    "u": "undo the last choice",
    "p": "show which seats requested and wrote the hunk",
    "q": "quit without writing",
}
FINAL_KEYS = {"y": "test and write the approved hunks", "u": HUNK_KEYS["u"], "b": "start over", "q": HUNK_KEYS["q"]}
LEAVE_HINT = "Ctrl-C leaves the gate open and discards your choices and edits."
KEY_WORDS = {"yes": "y", "no": "n", "quit": "q"}
EDITOR_VARIABLES = ("VISUAL", "EDITOR")
DEFAULT_EDITOR = "vi"
SYSTEM_STYLE, DIM_STYLE, WARNING_STYLE = "yellow", "dim", "red"


CheckChoice = Callable[[Digest, HunkChoice], Awaitable[Sequence[str]]]
"""Returns the reasons why the chosen part of a draft cannot be written."""


class _TerminalClosed(Exception):
    """The terminal was closed."""


class ReviewedPlan(NamedTuple):
    """The session and the draft that are being reviewed."""

    session: Session
    draft: Digest


class HunkPrompt:
    """Asks one person about the hunks of a plan; choices are kept while the table answers a question."""

    def __init__(self, console: Console, read: ReadLine, check: CheckChoice) -> None:
        self._console = console
        self._read_line = read
        self._check_choice = check
        self._approval: HunkApproval | None = None
        self._edited_texts: dict[Hunk, str] = {}

    async def approve(self, session: Session, gate: Gate) -> ApprovalAnswer | None:
        """Ask about the newest plan; None if the person left without an answer."""
        draft_and_plan = newest_session_change_plan(session)
        if draft_and_plan is None:
            return ApprovalAnswer(NONE)
        draft, plan = draft_and_plan
        self._approval = HunkApproval(plan, self._approval.verdicts if self._approval else None)
        self._print_line(
            f"Keys: {', '.join(f'{key} {meaning}' for key, meaning in HUNK_KEYS.items())}. {LEAVE_HINT}", DIM_STYLE
        )
        try:
            return await self._review_hunks(self._approval, ReviewedPlan(session, draft), ASK in gate.options)
        except _TerminalClosed:
            return None

    async def _review_hunks(self, approval: HunkApproval, plan: ReviewedPlan, may_ask: bool) -> ApprovalAnswer:
        while True:
            while (hunk := approval.current) is not None:
                if approval.shows_provenance:
                    self._show_provenance(hunk, plan)
                else:
                    self._show_hunk(approval, hunk, plan)
                unavailable = {
                    "" if may_ask else "t",
                    "" if hunk.is_text else "e",
                    "" if approval.can_undo else "u",
                }
                position = sanitize_line(_describe_position(approval, hunk))
                match await self._read_key(
                    f"{position}. Approve this hunk?",
                    {key: HUNK_KEYS[key] for key in HUNK_KEYS if key not in unavailable},
                ):
                    case "q":
                        return ApprovalAnswer(NONE)
                    case "t":
                        return approval.ask_table(await self._prompt_line("Your question about this hunk: "))
                    case "e":
                        await self._edit_hunk(approval, hunk, plan.draft)
                    case key:
                        approval.press(key)
            self._show_summary(approval)
            match await self._read_final_key(approval):
                case "y":
                    return approval.answer()
                case "q":
                    return ApprovalAnswer(NONE)
                case "u":
                    approval.press("u")
                case _:
                    approval.restart()

    async def confirm(self, phrase: str) -> ApprovalAnswer | None:
        """Ask for the phrase that confirms a dangerous change; None if the person left without an answer."""
        while typed := await self._read_line(
            f"Type `{sanitize_line(phrase)}` to continue, or press Enter to write nothing: "
        ):
            if typed == phrase:
                return ApprovalAnswer(CONFIRM, typed)
            self._print_line("The phrase does not match.", WARNING_STYLE)
        return None if typed is None else ApprovalAnswer(NO)

    # --- what is shown ---------------------------------------------------------------------------

    def _show_hunk(self, approval: HunkApproval, hunk: Hunk, plan: ReviewedPlan) -> None:
        self._print_line("")
        self._print_line(_describe_position(approval, hunk), SYSTEM_STYLE)
        authors = session_draft_authors(plan.session, plan.draft)
        origin = describe_hunk_provenance(plan.session, HunkHistory(hunk, authors.of(hunk.path)))
        self._print_line(
            origin[:1].upper() + origin[1:], WARNING_STYLE if hunk.id in approval.planned.unasked else DIM_STYLE
        )
        self._console.print(_render_hunk(hunk, self._console))

    def _show_provenance(self, hunk: Hunk, plan: ReviewedPlan) -> None:
        for line in render_hunk_provenance(hunk, plan.session, session_draft_authors(plan.session, plan.draft)):
            self._print_line(f"  {line}", DIM_STYLE)

    def _show_summary(self, approval: HunkApproval) -> None:
        self._print_line("")
        approved = f"{len(approval.taken)} of {pluralize(len(approval.planned.hunks), 'hunk')}"
        files = pluralize(len({hunk.path for hunk in approval.taken}), "file")
        rewritten = f", {len(approval.rewritten)} edited by you" if approval.rewritten else ""
        self._print_line(f"Approved: {approved} in {files}{rewritten}.", SYSTEM_STYLE)
        if approval.left_out:
            self._print_line(f"Rejected: {', '.join(hunk.id for hunk in approval.left_out)}.")

    def _print_line(self, line: str, style: str = "") -> None:
        self._console.print(Text(sanitize_line(line) if line.strip() == line else f"  {sanitize_line(line)}", style))

    # --- what is asked ---------------------------------------------------------------------------

    async def _read_final_key(self, approval: HunkApproval) -> str:
        if approval.taken:
            return await self._read_key("Write the approved hunks?", FINAL_KEYS)
        return await self._read_key(
            "No hunk is approved. Quit without writing?",
            {key: meaning for key, meaning in FINAL_KEYS.items() if key != "y"},
        )

    async def _read_key(self, question: str, keys: Mapping[str, str]) -> str:
        """Ask for a key or its word; other input lists the keys. Without an `n`, a no quits."""
        while True:
            typed = (await self._prompt_line(f"{question} [{', '.join(keys)}; ? for help]: ")).casefold()
            key = KEY_WORDS.get(typed, typed)
            key = "q" if key == "n" and key not in keys and "y" in keys else key
            if key in keys:
                return key
            if typed not in ("", "?"):
                self._print_line(f"Invalid key: {typed}.", WARNING_STYLE)
            for key, meaning in keys.items():
                self._print_line(f"  {key}: {meaning}", DIM_STYLE)

    async def _prompt_line(self, prompt: str) -> str:
        typed = await self._read_line(prompt)
        if typed is None:
            raise _TerminalClosed
        return typed

    async def _edit_hunk(self, approval: HunkApproval, hunk: Hunk, draft: Digest) -> None:
        """Let the person edit the new lines of a hunk; unchanged or invalid text decides nothing."""
        text = "\n".join((*(line.removesuffix("\r") for line in hunk.after), "")).replace(f"\n{NO_NEWLINE_MARK}\n", "")
        new_text = await self._edit_text(self._edited_texts.get(hunk, text), PurePosixPath(hunk.path).suffix)
        if new_text is None or new_text == text:
            self._edited_texts.pop(hunk, None)
            self._print_line("The hunk is unchanged.", DIM_STYLE)
            return
        self._edited_texts[hunk] = new_text
        self._console.print(
            _render_hunk(msgspec.structs.replace(hunk, after=tuple(new_text.splitlines())), self._console)
        )
        if problems := await self._check_choice(draft, approval.choice_with(hunk, new_text)):
            self._print_line(f"{' '.join(problems)} Press e to continue editing.", WARNING_STYLE)
            return
        approval.settle(new_text)

    async def _edit_text(self, text: str, suffix: str) -> str | None:
        """Edit a text in the person's editor; None if that failed."""
        command = next(
            (os.environ[variable] for variable in EDITOR_VARIABLES if os.environ.get(variable)), DEFAULT_EDITOR
        )
        with tempfile.TemporaryDirectory(prefix="roundtable-") as folder:
            file = Path(folder) / f"hunk{suffix}"
            await asyncio.to_thread(file.write_bytes, text.encode(errors="surrogateescape"))
            try:
                process = await asyncio.create_subprocess_exec(*shlex.split(command), str(file))
                code = await process.wait()
                new_text = (await asyncio.to_thread(file.read_bytes)).decode(errors="surrogateescape")
            except (OSError, ValueError) as error:
                self._print_line(
                    f"The editor {command} cannot be started ({error}). "
                    "Set the EDITOR environment variable to another editor.",
                    WARNING_STYLE,
                )
                return None
        return None if code else new_text


def _describe_position(approval: HunkApproval, hunk: Hunk) -> str:
    """Describe the position of a hunk in the plan; printed before it and again with the question."""
    hunks = approval.planned.hunks
    file_hunks = [candidate for candidate in hunks if candidate.path == hunk.path]
    place = "" if hunk.whole else f"hunk {file_hunks.index(hunk) + 1} of {len(file_hunks)}, "
    return f"{hunks.index(hunk) + 1} of {len(hunks)} · {hunk.path}: {place}{describe_hunk_place(hunk)}"
