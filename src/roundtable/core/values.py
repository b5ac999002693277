"""The nouns of a meeting: seats, charter, rounds, moves, decisions, gates.

Values carry no identity: ids and sequence numbers belong to the record. The lower and upper bounds of limits are kept
here once, for config files and command-line options alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Literal

import msgspec

from roundtable.core.faults import Fault
from roundtable.core.reasons import Reasons
from roundtable.core.stage_address import StageAddress
from roundtable.core.usage import Usage
from roundtable.core.verdict import Verdict

_NAME_SEPARATORS = re.compile(r", | and ")
"""Separators of the names in front of a list item, as `join_names_as_text` writes them."""

Digest = str
"""`sha256:` and 64 hex digits: the name of a blob in the store."""


def compute_digest(data: bytes) -> Digest:
    """The digest under which the store keeps these bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of every value: immutable, and fields at their default are omitted when encoded."""


class Right(StrEnum):
    """The rights of a seat in a meeting."""

    SPEAK = "speak"
    VOTE = "vote"
    JUDGE = "judge"
    EXECUTE = "execute"


SEAT_COLORS = {"claude": "cyan", "gpt": "green", "gemini": "magenta", "grok": "orange"}
"""Default colours of seats whose name begins with a known vendor's or model's name."""


class Seat(Value, frozen=True):
    """A participant: its name, and the voices through which it can be reached, tried in order."""

    name: str
    voices: tuple[str, ...]
    role: str = ""
    brief: str = ""
    judge: str = ""
    capabilities: tuple[str, ...] = ()
    priority: int = 0
    color: str = ""
    rights: tuple[Right, ...] = (Right.SPEAK, Right.VOTE, Right.JUDGE)

    def voice_chain(self, *, judging: bool = False) -> tuple[str, ...]:
        """The voices of this seat in the order they are tried; when judging, its judge voice comes first."""
        judges = (self.judge,) if judging and self.judge else ()
        return tuple(dict.fromkeys((*judges, *self.voices)))

    @property
    def usual_color(self) -> str:
        """The default colour for a seat of this name, or nothing."""
        return next((color for name, color in SEAT_COLORS.items() if self.name.lower().startswith(name)), "")


class Quorum(Value, frozen=True):
    """How many valid answers a round needs; fixed before the first answer arrives."""

    seats: int = 2
    vendors: int = 1
    essential: tuple[str, ...] = ()

    def is_reached(self, moves: Sequence[Move], electorate: Sequence[str]) -> bool:
        """Whether enough answers of these seats are valid."""
        valid = [move for move in moves if move.verdict.counts]
        return (
            len(valid) >= max(1, min(self.seats, len(electorate)))
            and len({move.vendor for move in valid}) >= min(self.vendors, len(electorate))
            and {move.seat for move in valid} >= set(self.essential)
        )


class Limits(Value, frozen=True):
    """The limits of a session. Budgets stop it between rounds, never in the middle of an answer.

    `sequential` asks one seat at a time, for providers that do not allow parallel calls; it does not change what the
    seats see of each other.
    """

    rounds: int = 8
    seat_timeout: float = 120.0
    round_deadline: float = 300.0
    close_on_quorum: bool = False
    quorum: Quorum = Quorum()
    budget_usd: float | None = None
    budget_tokens: int | None = None
    max_tokens: int = 2048
    retries: int = 2
    retry_delay: float = 0.5
    sequential: bool = False

    @staticmethod
    def is_in_range(name: str, value: float) -> bool:
        """Whether a limit may have this value; NaN is never in range."""
        return LIMIT_MINIMUMS[name] <= value <= LIMIT_MAXIMUM


class ContextItem(Value, frozen=True):
    """A file or text as it was when the session opened; the blob holds its content."""

    name: str
    digest: Digest
    size: int = 0


class RecalledEntry(Value, frozen=True):
    """An entry of the workspace's memory that a new meeting must know of: a decision, a decree, a failed approach.

    `question` is the question to which a failed approach was the answer: for another question it may still be right.
    """

    id: str
    kind: str
    text: str
    why: str = ""
    question: str = ""


SDLC_MEETING = "sdlc"
"""The meeting that has stages."""


class Charter(Value, frozen=True):
    """The question, seats and settings with which a session was opened. It changes only by recorded amendments.

    `notices` list context that is not shown, with the reason. `untold` are decrees and failed approaches that did
    not fit into `recalled`; they are binding anyway. `opened_in` is the workspace in which the command was given, if
    that was another one.
    """

    question: str
    seats: tuple[Seat, ...]
    meeting: str
    version: int
    options: tuple[str, ...] = ()
    settings: dict[str, int | float | str | bool] = {}
    limits: Limits = Limits()
    context: tuple[ContextItem, ...] = ()
    notices: tuple[str, ...] = ()
    recalled: tuple[RecalledEntry, ...] = ()
    untold: tuple[RecalledEntry, ...] = ()
    templates: dict[str, Digest] = {}
    name: str = ""
    slug: str = ""
    workspace: str = ""
    opened_in: str = ""
    owner: str = ""
    language: str = "en"
    headless: bool = False
    answers: dict[str, str] = {}
    seed: int = 0
    parent: str = ""
    branched_at: int = 0

    @property
    def has_stages(self) -> bool:
        """Whether the meeting has stages."""
        return self.meeting == SDLC_MEETING

    @property
    def starts_without_files(self) -> bool:
        """Whether the meeting creates a project from nothing, so that it does not read the person's folder."""
        return self.has_stages and not self.settings.get("existing", False)


RoundPurpose = Literal["", "tests"]


class Turns(Value, frozen=True):
    """The order of the seats and the answers that each one sees: independent settings of one round.

    `secret` rounds are ballots: they are counted and never shown to other seats. In a round `at_bench`, a voice that
    can edit files does so in a git worktree of its own, and its edits are part of its answer. `judging` seats speak
    through their judge voice, if they have one. In a meeting with stages, seats see only the rounds of the current
    `stage`; the results of earlier stages are quoted to them. A round with the purpose `tests` asks for tests alone:
    the code that a seat wrote before is kept.
    """

    concurrency: Literal["parallel", "sequential"] = "parallel"
    visibility: Literal["none", "own", "previous_rounds", "same_round"] = "none"
    signed: bool = False
    order: Literal["listed", "priority", "shuffle", "rotate"] = "listed"
    secret: bool = False
    at_bench: bool = False
    judging: bool = False
    stage: str = ""
    purpose: RoundPurpose = ""

    def includes_round(self, name: str) -> bool:
        """Whether seats of this round see a round or step of that name, which must belong to the same stage."""
        return not self.stage or StageAddress.parse(self.stage).includes(name)


class Prompt(Value, frozen=True):
    """A template of the meeting by name, and the texts that are filled into it.

    `lists` are quoted to every seat in an order of its own, so that no item is always first; `quotes` keep their order.
    Both hold words of seats and are fenced as untrusted; `values` hold our own or the person's words and are not. An
    item begins with its name and a colon and is fenced separately, so that no seat can speak in the name of another.
    `agreed` are settled points, each with its id; they are placed at the beginning of the turn. `files` are shown as
    context in this turn only.
    """

    template: str
    values: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    quotes: Mapping[str, str | tuple[str, ...]] = {}
    agreed: tuple[str, ...] = ()
    files: tuple[ContextItem, ...] = ()

    def items_by_name(self, name: str) -> dict[str, str]:
        """The items of a list by every name in front of their colon."""
        items = (item.partition(": ") for item in self.lists.get(name, ()))
        return {each: text for names, _, text in items for each in _NAME_SEPARATORS.split(names)}


class Expect(Value, frozen=True):
    """The form an answer must have: its codec, the allowed choices, and its maximum length.

    Where `tokens` is 0, the session's limit applies.
    """

    codec: str = "free"
    choices: tuple[str, ...] = ()
    tokens: int = 0


class WaitNotice(str):
    """An empty piece of a voice's stream: the call waits in a queue for about `seconds`. `why` says for which limit."""

    __slots__ = ("seconds", "why")

    seconds: float
    why: str

    def __new__(cls, seconds: float, why: str) -> WaitNotice:
        piece = super().__new__(cls, "")
        piece.seconds, piece.why = seconds, why
        return piece


class Timing(Value, frozen=True):
    """Seconds from the request to the first word and to the last."""

    first: float = 0.0
    total: float = 0.0


class MoveStatus(StrEnum):
    """Whether a move was made in time to count."""

    MADE = "made"
    LATE = "late"


class Move(Value, frozen=True):
    """The answer of one seat in one round. Immutable."""

    round: str
    seat: str
    text: str
    verdict: Verdict = Verdict()
    usage: Usage = Usage()
    timing: Timing = Timing()
    voice: str = ""
    vendor: str = ""
    status: MoveStatus = MoveStatus.MADE


class Absence(Value, frozen=True):
    """A seat that did not answer, and why."""

    seat: str
    fault: Fault


class Round(Value, frozen=True):
    """The result of one round: which seats were asked, which answered, which are missing and why."""

    name: str
    electorate: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    missing: tuple[Absence, ...] = ()
    quorate: bool = True
    purpose: RoundPurpose = ""

    def move_of(self, seat: str) -> Move | None:
        """The move of one seat, if it answered in time."""
        return next((move for move in self.moves if move.seat == seat), None)


class Proposal(Value, frozen=True):
    """Something that can be agreed on; its id stays the same for the whole session."""

    id: str
    text: str
    authors: tuple[str, ...] = ()


class Substitution(Value, frozen=True):
    """A seat that answered through another voice than its first: in which rounds, and why.

    `skipped` are the voices that were tried in between, each with its fault.
    """

    seat: str
    voice: str
    instead_of: str
    rounds: tuple[str, ...]
    fault: Fault
    skipped: dict[str, Fault] = {}


class Dissent(Value, frozen=True):
    """A minority's view, word for word; `prediction` says what will be observed if the minority is right."""

    seat: str
    position: str
    text: str
    prediction: str = ""


class Outcome(StrEnum):
    """How a meeting can end."""

    REACHED = "reached"
    REJECTED = "rejected"
    TIE = "tie"
    DEADLOCK = "deadlock"
    INSUFFICIENT = "insufficient"
    CANCELLED = "cancelled"
    FAILED = "failed"


class NextStep(StrEnum):
    """The next step after a decision."""

    APPLY = "apply"
    APPLIED = "applied"
    DELIVERED = "delivered"
    MYSELF = "myself"
    LATER = "later"
    REJECT = "reject"
    REPORT = "report"
    LOG = "log"
    BACK = "back"
    STOP = "stop"


class Decision(Value, frozen=True):
    """The result of a meeting: the decision, its basis, and the missing seats.

    `next_step` is a NextStep, or the answer to the last gate of a meeting that a file defines. With `task_only`, the
    position is only the task with its author and files.
    """

    outcome: Outcome
    how: Reasons
    winner: str = ""
    position: str = ""
    text: str = ""
    author: str = ""
    electorate: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    missing: tuple[Absence, ...] = ()
    dissent: tuple[Dissent, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    blind_vote: dict[str, int] = {}
    tally: dict[str, int] = {}
    conformity: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()
    notices: Reasons = ()
    next_step: str = ""
    task_only: bool = False
    substitutions: tuple[Substitution, ...] = ()

    @property
    def degraded(self) -> bool:
        """Whether a seat is missing or a notice limits the decision."""
        return bool(self.missing or self.notices)

    @property
    def is_decided(self) -> bool:
        """Whether something was decided, for or against."""
        return self.outcome in (Outcome.REACHED, Outcome.REJECTED)

    @property
    def is_compiled(self) -> bool:
        """Whether the text quotes all seats instead of being written by one, so votes and dissent would repeat it."""
        return bool(self.text and not self.author)


STAGES_GATE = "stages"
"""The gate id under which the gates after all stages can be answered in advance."""

DISPUTE = "dispute"
"""The kind of the gates at which the person settles a dispute of a stage."""

OWN_WORDS_OPTION = "own"
"""The option of a dispute by which the person rejects all proposals and gives a text of their own."""


class Gate(Value, frozen=True):
    """A question that only a person, or a policy stated in advance, may answer.

    At a gate that `writes`, no program may answer. An answer given in advance to the gate `again_of` also answers this
    one. `kind` is the kind of question, if gates with different ids ask it.
    """

    id: str
    question: str
    options: tuple[str, ...]
    default: str
    details: dict[str, str] = {}
    deadline: float | None = None
    writes: bool = False
    again_of: str = ""
    kind: str = ""

    @staticmethod
    def numbered_id(name: str, number: int) -> str:
        """Return the id of a gate that is asked several times; the first one has no number."""
        return name if number == 1 else f"{name}-{number}"

    @staticmethod
    def split_numbered_id(id: str) -> tuple[str, int]:
        """Return the name and the number of a gate; the number is 1 if the id has none."""
        name, _, number = id.rpartition("-")
        return (name, int(number)) if number.isdecimal() else (id, 1)

    def advance_answer(self, answers: Mapping[str, str]) -> str:
        """The answer given in advance; empty if there is none."""
        return answers.get(self.id) or answers.get(self.again_of, "")

    @property
    def is_after_stage(self) -> bool:
        """Whether this gate asks how to continue after a stage."""
        return self.again_of == STAGES_GATE

    def is_back_answer(self, option: str) -> bool:
        """Whether this answer goes back to an earlier stage."""
        return option == NextStep.BACK and self.is_after_stage

    def is_own_words_answer(self, option: str) -> bool:
        """Whether this answer means nothing but the text that comes with it."""
        return option == OWN_WORDS_OPTION and self.kind == DISPUTE


class Message(Value, frozen=True):
    """One message of a prompt, in the order the model reads them."""

    role: Literal["system", "user", "assistant"]
    text: str


class AgentWorktree(Value, frozen=True):
    """A folder in which a voice may edit files, or none, and the environment variables for programs that run there."""

    folder: str = ""
    variables: dict[str, str] = {}


class Request(Value, frozen=True):
    """Everything a voice needs for one call; serialisable, so that a remote worker can execute it.

    Within one `session`, the later requests of a seat begin with the messages of its earlier ones, byte for byte,
    except for requests made `aside` (ballots), which never appear again. `workplace` is a folder in which the voice may
    edit files, and `variables` is the environment for programs there.
    """

    call: str
    seat: str
    messages: tuple[Message, ...]
    session: str = ""
    aside: bool = False
    workplace: str = ""
    variables: dict[str, str] = {}
    schema: dict[str, object] | None = None
    schema_name: str = ""
    max_tokens: int = 2048
    temperature: float = 0.7
    seed: int | None = None
    timeout: float = 120.0


class Reply(Value, frozen=True):
    """The end of a successful call: the whole text and the usage."""

    text: str
    usage: Usage = Usage()
    model: str = ""
    truncated: bool = False


DECISION_CONTEXT_NAME = "the decision"


LIMIT_MINIMUMS: dict[str, float] = {
    "rounds": 0,
    "seat_timeout": 0.1,
    "round_deadline": 0.1,
    "budget_usd": 0,
    "budget_tokens": 1,
    "max_tokens": 1,
    "retries": 0,
    "retry_delay": 0,
    "quorum": 1,
}

LIMIT_MAXIMUM = 1e12
"""A larger limit is a typing error, or infinity."""
