"""The sizes of a meeting's prompts and answers, estimated from its plan before anything is said; asks nobody."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

from roundtable.app.opening.context_window import (
    FILE_BYTES_IN_UNKNOWN_WINDOW,
    MAX_MAP_TOKENS,
    MIN_FILE_TOKENS,
    ContextRoom,
    compute_opening_context_tokens_left,
    split_context_room_between_map_and_files,
)
from roundtable.app.opening.meeting_catalog import MeetingCatalog
from roundtable.core.replies import find_reply_codec
from roundtable.core.replies.file_changes import choose_reply_changes_codec
from roundtable.core.stage_address import StageAddress
from roundtable.core.text.chunks import CHUNK_TOKENS, SizedFile
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Expect, Right, Seat
from roundtable.meetings import PlannedRound
from roundtable.meetings.try_candidates import FILE_PARTS_CODEC, WHOLE_FILES_CODEC
from roundtable.store.stored_events import compute_digest

POSITION_BYTES = 160
"""Bytes of a position in one line."""

PRINTED_BYTES = 8_000
"""Bytes of program output in a prompt that quotes it."""

FILE_NAMES_BYTES = 20_000
"""Bytes of the names of files that do not fit into a prompt."""


class ProjectSize(NamedTuple):
    """The size of a meeting's project in bytes.

    `room` returns the space for files if the answer may have so many tokens. `sizes` are the bytes of each file, and
    `around` are the bytes around the files in a prompt.
    """

    room: Callable[[int], ContextRoom]
    sizes: tuple[int, ...] = ()
    around: int = 0


class GrowthRates(NamedTuple):
    """How texts grow: bytes per token, answer tokens of each round, and whether to assume the worst case."""

    per_token: int
    answer: Callable[[PlannedRound], int]
    at_worst: bool = False


class PromptForecast:
    """Forecasts the prompts of one seat through a meeting, in bytes."""

    def __init__(self, charter: Charter, project: ProjectSize, pace: GrowthRates, system: int, seat: Seat) -> None:
        self._charter = charter
        self._project = project
        self._pace = pace
        recalled = sum(
            len(f"{entry.id}{entry.kind}{entry.text}{entry.question}{entry.why}".encode()) for entry in charter.recalled
        )
        self._surroundings = recalled + sum(item.size for item in charter.context)
        self._system = system + self._surroundings + len((seat.role + seat.brief).encode())
        self._begun = False
        self._stage = ""
        self._own = Counter[str]()
        self._unread = Counter[str]()
        self._said = self._found = self._ruling = self._printed = self._agreed = self._written = 0

    def forecast_prompts(self, round: PlannedRound, template: int) -> list[int]:
        """Return the bytes of each prompt of a round; `template` is the size of its text and form."""
        address = StageAddress.parse(round.turns.stage)
        self._enter_stage(address.stage)
        # A lap runs a program, and its output is part of the later prompts.
        self._printed = PRINTED_BYTES if address.lap and self._pace.at_worst else 0
        times = self._count_parts(round) if "part" in round.shows else 1
        return [self._measure_prompt(round, template, times) for _ in range(times)]

    def _enter_stage(self, stage: str) -> None:
        """Enter a stage; later stages see the results of earlier ones."""
        if self._stage and stage != self._stage:
            self._agreed += self._ruling + self._found + self._printed
            self._ruling = self._found = self._printed = 0
        self._stage = stage

    def _measure_prompt(self, round: PlannedRound, template: int, times: int) -> int:
        """Return the size of a prompt; it grows because a seat reads its own and others' words again."""
        charter, turns = self._charter, round.turns
        alone, answer = turns.visibility == "none", self._answer_bytes(round)
        own = self._own[turns.stage] if turns.stage else self._own.total()
        new = template + round.words + self._agreed + self._measure_shown(round, times)
        new += len(charter.question.encode()) if alone or not own else 0
        new += POSITION_BYTES * len(charter.seats) if self._begun else len("".join(charter.options).encode())
        if turns.visibility in ("previous_rounds", "same_round"):
            bytes_heard = self._unread.pop(turns.stage, 0) + (answer if turns.visibility == "same_round" else 0)
            new += (len(charter.seats) - 1) * bytes_heard
        self._record_round(round, new, answer)
        return self._system + new + (0 if alone else own)

    def _record_round(self, round: PlannedRound, new: int, answer: int) -> None:
        """Record what the round adds to later prompts."""
        self._begun = True
        stage, all_of_them = round.turns.stage, len(self._charter.seats) * answer
        if not round.turns.secret:
            self._own[stage] += new + answer
            self._unread[stage] += answer
            self._said = all_of_them
        if round.turns.judging:
            self._ruling = max(self._ruling, answer)
        if round.writes:
            self._written += all_of_them if round.writes == "each" and self._pace.at_worst else answer
        elif "part" in round.shows:
            self._found += all_of_them

    def _answer_bytes(self, round: PlannedRound) -> int:
        return self._pace.answer(round) * self._pace.per_token

    # --- the project -------------------------------------------------------------------------------

    @property
    def _project_bytes(self) -> int:
        return sum(self._project.sizes) + self._project.around + self._written

    def _measure_shown(self, round: PlannedRound, times: int) -> int:
        shown = {
            "files": self._measure_files_shown(round),
            "part": -(-self._project_bytes // times) + (MAX_MAP_TOKENS * BYTES_PER_TOKEN if times > 1 else 0),
            "found": -(-self._found // times),
            "answers": self._said,
            "printed": PRINTED_BYTES if self._pace.at_worst else 0,
        }
        return sum(shown[content] for content in round.shows)

    def _measure_files_shown(self, round: PlannedRound) -> int:
        """Return the bytes of the files that fit into the windows, with the names of the others."""
        answers = len(self._charter.seats) if round.turns.concurrency == "sequential" else 1
        room = self._project.room(round.tokens * answers)
        known = FILE_BYTES_IN_UNKNOWN_WINDOW
        if room.named is not None and room.all_known:
            known = max(0, compute_opening_context_tokens_left(room.named, self._surroundings)) * BYTES_PER_TOKEN
        return (
            self._project_bytes if self._project_bytes <= known else known + min(self._project.around, FILE_NAMES_BYTES)
        )

    def _count_parts(self, round: PlannedRound) -> int:
        """The number of parts that the project is split into. In the worst case, each is just over half full."""
        tokens = (self._project_bytes - self._written) // BYTES_PER_TOKEN + self._written // self._pace.per_token
        limit = self._part_limit(tokens, round)
        return max(1, -(-2 * tokens // limit) - 1 if self._pace.at_worst else -(-tokens // limit))

    def _part_limit(self, tokens: int, round: PlannedRound) -> int:
        """Tokens of files in one part, by the context windows of the seats that read it."""
        room = self._project.room(round.tokens)
        used = len(self._charter.question.encode()) + self._agreed + self._surroundings
        tokens_left = (
            None if room.named is None else max(MIN_FILE_TOKENS, compute_opening_context_tokens_left(room.named, used))
        )
        chunk = int(self._charter.settings.get("chunk", CHUNK_TOKENS))
        return split_context_room_between_map_and_files(
            [SizedFile("", tokens, ())], tokens_left, chunk, at_once=room.all_known
        )[1]


MIN_TOKEN_BYTES = 3
"""Bytes per token where words are cut finer than usual: the most assumes it of everything."""

BALLOT_TOKENS = 60
"""Tokens of a ballot."""


class CallTokens(NamedTuple):
    """The prompt and answer tokens of one call."""

    asked: int
    answered: int


class _RoundCall(NamedTuple):
    """One call of a round with the bytes of its prompt."""

    round: PlannedRound
    prompt: int


class MeetingEstimate:
    """One planned meeting: the sizes of its parts and its rounds."""

    def __init__(self, charter: Charter, texts: Sequence[bytes], project: ProjectSize) -> None:
        sizes = {compute_digest(text): len(text) for text in texts}
        self._charter = charter
        self._project = project
        self._templates = {name: sizes[digest] for name, digest in charter.templates.items()}
        self._rounds = MeetingCatalog.find_charter_meeting(charter).planned_rounds(charter.settings, charter.options)

    def estimate_likely_calls(
        self, seat: Seat, answer: int, thought: int, overhead: int, *, judging: bool
    ) -> list[CallTokens]:
        """Return the expected calls for an answer and thoughts of so many tokens; thoughts are read by nobody.

        `judging` selects the calls in which the seat judges, or the others.
        """

        def usual(_: PlannedRound) -> int:
            return answer

        return [
            CallTokens(prompt // BYTES_PER_TOKEN + overhead, (BALLOT_TOKENS if _is_ballot(round) else answer) + thought)
            for round, prompt in self._list_round_calls(
                seat, self._list_likely_rounds(seat), GrowthRates(BYTES_PER_TOKEN, usual)
            )
            if round.turns.judging == judging
        ]

    def _list_likely_rounds(self, seat: Seat) -> list[PlannedRound]:
        """Return the likely rounds of a seat; judging rounds only when it is its turn."""
        judges = [item.name for item in self._charter.seats if Right.JUDGE in item.rights] or [""]
        turn = cycle(judges)
        likely = (round for round in self._rounds if round.likely)
        return [round for round in likely if not round.turns.judging or next(turn) == seat.name]

    def estimate_most_calls(
        self, seat: Seat, thinking: int, overhead: int, window: int, *, judging: bool
    ) -> list[CallTokens]:
        """Return every possible call: answers of maximum length, each repaired once.

        A prompt that is longer than a known `window` is rejected and not billed.
        """
        longest_prompt = window or sys.maxsize
        calls: list[CallTokens] = []
        for round, prompt in self._list_round_calls(
            seat, self._rounds, GrowthRates(MIN_TOKEN_BYTES, self._get_max_tokens, at_worst=True)
        ):
            if round.turns.judging != judging:
                continue
            longest = self._get_max_tokens(round)
            asked = prompt // MIN_TOKEN_BYTES + overhead
            again = asked + longest + self._measure_reply_form(round, at_worst=True) // MIN_TOKEN_BYTES
            calls += [CallTokens(min(number, longest_prompt), longest + thinking) for number in (asked, again)]
        return calls

    def _get_max_tokens(self, round: PlannedRound) -> int:
        return round.tokens or self._charter.limits.max_tokens

    def _list_round_calls(self, seat: Seat, rounds: Sequence[PlannedRound], pace: GrowthRates) -> list[_RoundCall]:
        """Return the calls of a seat in all rounds that the limits of the session allow."""
        forecast = PromptForecast(self._charter, self._project, pace, self._templates.get("system", 0), seat)
        held = [
            _RoundCall(round, prompt)
            for round in rounds
            for prompt in forecast.forecast_prompts(
                round, self._templates[round.template] + self._measure_reply_form(round, pace.at_worst)
            )
        ]
        return _apply_round_limit(held, self._charter.limits.rounds)

    def _measure_reply_form(self, round: PlannedRound, at_worst: bool) -> int:
        """Return the bytes of the reply instructions; the worst case assumes long files."""
        sizes = (*(item.size for item in self._charter.context), *self._project.sizes)
        form = (
            (FILE_PARTS_CODEC if at_worst else choose_reply_changes_codec(sizes))
            if round.codec == WHOLE_FILES_CODEC
            else round.codec
        )
        choices = self._charter.options or tuple(seat.name for seat in self._charter.seats)
        return len(find_reply_codec(form).text_format(Expect(form, choices)).encode())


def _is_ballot(round: PlannedRound) -> bool:
    return round.turns.secret and not round.turns.judging


def _apply_round_limit(held: Sequence[_RoundCall], most: int) -> list[_RoundCall]:
    """Return the calls within the limit; it counts open rounds, and no ballot follows once it is reached."""
    allowed: list[_RoundCall] = []
    opened = 0
    for asked in held:
        if opened >= most:
            break
        allowed.append(asked)
        opened += not asked.round.turns.secret
    return allowed
