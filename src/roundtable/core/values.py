"""The nouns of a meeting. Values carry no identity: ids and sequence numbers belong to the record.

How small a limit may be: one table for config files and command lines, so that both take the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Literal

import msgspec

from roundtable.core.faults import Fault
from roundtable.core.usage import Usage
from roundtable.core.verdict import Verdict

Digest = str
"""`sha256:` and 64 hex digits: the name of something kept once in the blob store."""


def compute_digest(data: bytes) -> Digest:
    """The name of a blob."""
    return f"sha256:{sha256(data).hexdigest()}"


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of every value: immutable, compact on the wire."""


class Right(StrEnum):
    """What a seat may do at the table."""

    SPEAK = "speak"
    VOTE = "vote"
    JUDGE = "judge"
    EXECUTE = "execute"


SEAT_COLORS = {"claude": "cyan", "gpt": "green", "gemini": "magenta", "grok": "orange"}
"""The colours people know some seats by."""


class Seat(Value, frozen=True):
    """Who takes part: a name people use, and a chain of voices tried in order."""

    name: str
    voices: tuple[str, ...]
    role: str = ""
    brief: str = ""
    judge: str = ""
    capabilities: tuple[str, ...] = ()
    priority: int = 0
    color: str = ""
    rights: tuple[Right, ...] = (Right.SPEAK, Right.VOTE, Right.JUDGE)

    def chain(self, *, judging: bool = False) -> tuple[str, ...]:
        """Its voices in the order they are tried; for who judges, its judge's before them."""
        judges = (self.judge,) if judging and self.judge else ()
        return tuple(dict.fromkeys((*judges, *self.voices)))

    @property
    def usual_color(self) -> str:
        """The colour people know such a seat by, if they know one."""
        return next((color for name, color in SEAT_COLORS.items() if self.name.lower().startswith(name)), "")


class Quorum(Value, frozen=True):
    """How many valid answers a round needs, fixed before the first one is heard."""

    seats: int = 2
    vendors: int = 1
    essential: tuple[str, ...] = ()


class Limits(Value, frozen=True):
    """The bounds of a session. Budgets stop it at a round boundary, never in mid-sentence.

    `sequential` asks one seat at a time, for providers that take no two calls at once; who sees what stays the same.
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


class ContextItem(Value, frozen=True):
    """A file or text as it was at the opening; the blob holds the content."""

    name: str
    digest: Digest
    size: int = 0


class RecalledEntry(Value, frozen=True):
    """What an earlier meeting left behind and this one must know of: a decision, a decree, a failed approach…

    `question` is what a failed approach was the answer to: as the answer to another it may serve.
    """

    id: str
    kind: str
    text: str
    why: str = ""
    question: str = ""


class Charter(Value, frozen=True):
    """What was agreed at the opening. It changes only by recorded amendments.

    `notices` say what of the context is not shown, and why. `untold` are the decrees and failed approaches for which
    `recalled` has no room: they hold all the same. `opened_in` is the workspace in which the person stood, where that
    was another one.
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


class Turns(Value, frozen=True):
    """Who speaks when and who sees what: independent settings, never separate loops.

    `secret` rounds are ballots: counted, never read out to the other seats. In a round `at_bench`, a voice that can
    edit files does so in a worktree of its own, and what it changed there is part of its answer. A `judging` seat
    speaks through its judge's voice, if it has one. Of a meeting in stages, seats hear only the rounds of the `stage`
    they are in: what the earlier ones came to is put before them as such.
    """

    concurrency: Literal["parallel", "sequential"] = "parallel"
    visibility: Literal["none", "own", "previous_rounds", "same_round"] = "none"
    signed: bool = False
    order: Literal["listed", "priority", "shuffle", "rotate"] = "listed"
    secret: bool = False
    at_bench: bool = False
    judging: bool = False
    stage: str = ""

    def hears(self, name: str) -> bool:
        """Whether a round or step of that name is of the same stage."""
        return not self.stage or name.startswith(f"{self.stage}/")


class Prompt(Value, frozen=True):
    """A template of the meeting by name, and the words that go into it.

    `lists` are read out to every seat in an order of its own, so that nothing is always first; `quotes` in theirs.
    Both are the seats' words and are fenced, as `values`, which are ours or the person's, are not. Each item begins
    with what it is called and a colon, and is fenced by itself, so that nobody can speak for another.
    `agreed` are the points that are settled, each with its id; they stand at the head of the turn. `files` are shown
    in this turn as context is.
    """

    template: str
    values: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    quotes: Mapping[str, str | tuple[str, ...]] = {}
    agreed: tuple[str, ...] = ()
    files: tuple[ContextItem, ...] = ()


class Expect(Value, frozen=True):
    """The form an answer must have: a codec, what may be chosen where there is a choice, and how long it may be.

    Without `tokens`, the limit of the session holds.
    """

    codec: str = "free"
    choices: tuple[str, ...] = ()
    tokens: int = 0


class WaitNotice(str):
    """An empty piece of a voice's: the call waits for its turn, for about so many seconds. `why` says at whose word."""

    __slots__ = ("seconds", "why")

    seconds: float
    why: str

    def __new__(cls, seconds: float, why: str) -> WaitNotice:
        piece = super().__new__(cls, "")
        piece.seconds, piece.why = seconds, why
        return piece


class Timing(Value, frozen=True):
    """Seconds from asking to the first word and to the last."""

    first: float = 0.0
    total: float = 0.0


class MoveStatus(StrEnum):
    """Whether a contribution came in time to count."""

    MADE = "made"
    LATE = "late"


class Move(Value, frozen=True):
    """One seat's contribution to one round. Immutable."""

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
    """A seat that did not answer, and why. Every absence is on the record."""

    seat: str
    fault: Fault


class Round(Value, frozen=True):
    """What came of one pass of the seats: who was asked, who answered, who is missing and why."""

    name: str
    electorate: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    missing: tuple[Absence, ...] = ()
    quorate: bool = True

    def by(self, seat: str) -> Move | None:
        """The move of one seat, if it made one in time."""
        return next((move for move in self.moves if move.seat == seat), None)


class Proposal(Value, frozen=True):
    """Something that can be agreed on, under an id that stays the same for the whole session."""

    id: str
    text: str
    authors: tuple[str, ...] = ()


class Substitution(Value, frozen=True):
    """A seat that was heard through another voice than its first, in which rounds, and why.

    `skipped` are the voices between the two, with what was wrong with each.
    """

    seat: str
    voice: str
    instead_of: str
    rounds: tuple[str, ...]
    fault: Fault
    skipped: dict[str, Fault] = {}

    @property
    def sentence(self) -> str:
        """The substitution for people."""
        where = ", ".join(self.rounds)
        nor = "".join(f" Nor was {voice} to be had: {fault.message}" for voice, fault in self.skipped.items())
        instead = f"{self.seat} spoke through {self.voice} instead of {self.instead_of}"
        return f"{instead} ({where}): {self.fault.message}{nor}"


class Dissent(Value, frozen=True):
    """A minority's view, word for word; `prediction` is what will be seen if it is right, as it said itself."""

    seat: str
    position: str
    text: str
    prediction: str = ""


class Outcome(StrEnum):
    """How a meeting can end. Nothing else."""

    REACHED = "reached"
    REJECTED = "rejected"
    TIE = "tie"
    DEADLOCK = "deadlock"
    INSUFFICIENT = "insufficient"
    CANCELLED = "cancelled"
    FAILED = "failed"


class NextStep(StrEnum):
    """What becomes of a decision, where Roundtable itself knows the word: chosen by the person, or simply so."""

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
    """The result a person can rely on, because it says what it rests on and who was not heard.

    `next_step` is what becomes of it: a NextStep, or what the last gate of a meeting's own file was answered with.
    """

    outcome: Outcome
    how: str
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
    notices: tuple[str, ...] = ()
    next_step: str = ""
    substitutions: tuple[Substitution, ...] = ()

    @property
    def degraded(self) -> bool:
        """True when someone who should have been heard was not, or a notice stands above the text."""
        return bool(self.missing or self.notices)

    @property
    def settled(self) -> bool:
        """True when a decision was taken, one way or the other."""
        return self.outcome in (Outcome.REACHED, Outcome.REJECTED)


class Gate(Value, frozen=True):
    """A question only a person, or a policy stated beforehand, may answer; at one that `writes`, never a program.

    What was answered ahead to the gate `again_of` is an answer to this one too.
    """

    id: str
    question: str
    options: tuple[str, ...]
    default: str
    details: dict[str, str] = {}
    deadline: float | None = None
    writes: bool = False
    again_of: str = ""

    def ahead(self, answers: Mapping[str, str]) -> str:
        """What was answered ahead; nothing if nobody did."""
        return answers.get(self.id) or answers.get(self.again_of, "")


class Message(Value, frozen=True):
    """One part of a prompt, in the order the model reads it."""

    role: Literal["system", "user", "assistant"]
    text: str


class AgentWorktree(Value, frozen=True):
    """A folder in which a voice may change files, if there is one, and what programs that run there are told."""

    folder: str = ""
    variables: dict[str, str] = {}


class Request(Value, frozen=True):
    """Everything a voice needs for one call; serialisable, so that a remote worker could take it.

    Within one `session`, a seat's later requests begin with the messages of its earlier ones, byte for byte, but for
    those that were asked `aside`: a ballot is never heard of again. `workplace` is a folder it may change files in,
    and `variables` are what programs there are told.
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
    """How a successful call ends: the whole text, and what it cost."""

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
"""More than this of anything is a slip, or infinity."""


def is_limit_in_range(name: str, value: float) -> bool:
    """Whether a limit may have this value; what is not a number is within nothing."""
    return LIMIT_MINIMUMS[name] <= value <= LIMIT_MAXIMUM
