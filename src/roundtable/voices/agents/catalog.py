"""What we know of each agent command line. Adding one is adding a data file or a config section."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from roundtable.core.faults import ConfigError, FaultKind
from roundtable.voices.data_file import convert_data, parse_data_file, suggest_nearest_name

EventPattern = dict[str, str | int | bool]
"""Values that must stand at certain paths of a line, such as `{"type" = "result", "is_error" = true}`."""


class OutputRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one kind of line is read: the first rule whose `when` fits a line applies. Values are paths into the line."""

    when: EventPattern
    says: str = ""
    """A piece of the answer."""
    message: str = ""
    """A whole message of the answer."""
    begins: bool = False
    """What is said next begins a new message."""
    answer: str = ""
    """The whole answer, told once more at the end; used where nothing was said before, or where a schema holds it."""
    note: str = ""
    """What the agent says of its own state: a warning, a retry. It explains a silence."""
    denied: str = ""
    """What it was not allowed to do."""
    fails: str = ""
    """Why the turn failed."""
    status: str = ""
    """The HTTP status behind the failure."""
    kind: FaultKind | None = None
    """What this failure always is, whatever its words."""
    reason: str = ""
    """Words for a failure that comes without any."""
    session: str = ""
    model: str = ""
    finish: str = ""
    """Why the model stopped."""
    plan: EventPattern = {}
    """Fits when a subscription pays."""
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    cached: str = ""
    written: str = ""
    cost: str = ""
    ends: bool = False
    """Nothing of the answer follows."""

    @property
    def is_failure(self) -> bool:
        """Whether such a line means that the turn failed."""
        return bool(self.fails or self.reason)


class FaultSign(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An exit code or words by which this agent tells a certain fault."""

    kind: FaultKind
    words: tuple[str, ...] = ()
    exit: int = 0
    help: str = ""

    def matches(self, text: str, code: int | None) -> bool:
        """Whether the agent's words or its exit code are this sign."""
        return (bool(self.exit) and self.exit == code) or any(word.lower() in text for word in self.words)


class LocalServerSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to point the agent at a server on this machine. `files` are written into a HOME of its own."""

    dialect: str
    model: str
    argv: tuple[str, ...] = ()
    set: dict[str, str] = {}
    files: dict[str, str] = {}


class AcpSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the agent is started to speak the Agent Client Protocol, where that differs from its command line."""

    argv: tuple[str, ...] = ()
    command: str = ""
    """The adapter that speaks for it, where it does not speak the protocol itself."""
    mode: str = ""
    """The session mode in which it changes nothing."""
    meta: dict[str, Any] = {}
    """What the agent takes beside the protocol when a session is opened; its texts may hold `{system}`."""
    system_in_prompt: bool = False
    """The protocol has no place for a system prompt: true where `files`, `set` and `meta` do not hand it over."""
    resumes: bool = True
    """Whether a session it says it can load is really there."""
    install: str = ""
    """How a person gets the adapter."""


class EditSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What differs where the agent may edit the files of the folder it runs in, and no others."""

    hands: tuple[str, ...] = ()
    set: dict[str, str] = {}
    files: dict[str, str] = {}


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One agent command line.

    `{hands}`, `{model}`, `{schema}` and `{session}` in `argv` stand for the lists below, each left out where it does
    not apply. In all texts `{work}` is the folder it runs in, empty unless it is to edit the files there, and
    `{papers}` is another for what we write for it.
    """

    name: str
    command: str
    argv: tuple[str, ...]
    reads: tuple[OutputRule, ...]
    title: str = ""
    vendor: str = ""
    prices: str = ""
    """Whose price list its models are on, where it does not tell what they cost."""
    checked: str = ""
    """The version all this was tried with."""
    unverified: str = ""
    """What nobody has tried yet, in words."""
    install: str = ""
    """How a person gets the program."""
    help: str = ""
    """How a person logs in."""
    default_model: str = ""
    concurrency: int = 4
    idle: float = 0.0
    """Seconds of silence after which it counts as stuck; 0 where it is silent for as long as the model thinks."""
    overhead_bytes: int = 0
    """What it adds to every prompt, as measured."""
    version: tuple[str, ...] = ("--version",)
    hands: tuple[str, ...] = ()
    """What keeps it from changing anything."""
    edits: EditSetup | None = None
    model: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    """The session's arguments of a call that is not to be continued."""
    resume: tuple[str, ...] = ()
    """How a native session is continued; empty where it cannot be."""
    lost: str = ""
    """How it says that it does not know that session any more."""
    cumulative: bool = False
    """Its usage counts the whole native session, not the turn."""
    stdin: str = "{prompt}"
    system_in_prompt: bool = False
    variables: tuple[str, ...] = ()
    """The person's variables it may see, beside the usual ones; globs."""
    key_variables: tuple[str, ...] = ()
    """Where one of these is set a key pays, else a subscription; without any, nobody says who pays."""
    set: dict[str, str] = {}
    files: dict[str, str] = {}
    retrying: str = ""
    """A line on standard error that means it failed and tries again in silence. Retries are the engine's."""
    chatter: str = ""
    """Lines with these words on standard error are of no interest to anybody."""
    signs: tuple[FaultSign, ...] = ()
    local: LocalServerSetup | None = None
    acp: AcpSetup | None = None

    @property
    def can_edit(self) -> bool:
        """Whether we know how it is let edit files in one folder, and nowhere else."""
        return self.edits is not None

    @property
    def structured(self) -> bool:
        """Whether its answers can be held to a JSON schema."""
        return bool(self.schema)

    @property
    def keeps_session(self) -> bool:
        """Whether it remembers the rounds before, so that only what is new is sent."""
        return bool(self.resume)

    def has_key(self, environ: Mapping[str, str]) -> bool:
        """Whether a key pays: one of the person's, or one it is given."""
        return any(environ.get(name) or self.set.get(name) for name in self.key_variables)

    def find_vendor(self, model: str) -> str:
        """Whose model it is: an agent without a vendor of its own names the maker before the slash."""
        maker, slash, _ = model.partition("/")
        return self.vendor or (maker if slash else self.name)


def allow_agent_edits(agent: Agent) -> Agent:
    """The same agent, let edit the files of the folder it runs in."""
    assert agent.edits is not None
    edits = agent.edits
    return msgspec.structs.replace(
        agent, hands=edits.hands, set={**agent.set, **edits.set}, files={**agent.files, **edits.files}
    )


def parse_agent_definition(name: str, data: Mapping[str, Any], where: str = "") -> Agent:
    """An agent from a data file or a config section."""
    where = where or f"agents.{name}"
    agent = convert_data(Agent, {**data, "name": name}, where)
    if agent.concurrency < 1:
        raise ConfigError(f"{where}: concurrency must be 1 or more.", "Leave it out for 4.")
    return agent


@cache
def load_shipped_agents() -> dict[str, Agent]:
    """The catalog that comes with the product, one data file each."""
    folder = resources.files("roundtable.voices") / "catalog" / "agents"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {
        name: parse_agent_definition(name, parse_data_file(item.read_bytes(), item.name), item.name)
        for item in files
        for name in (item.name.removesuffix(".toml"),)
    }


def merge_own_agents(own: Mapping[str, Mapping[str, Any]], where: str = "") -> dict[str, Agent]:
    """The catalog with a person's own settings laid over it; a new name must describe a whole agent."""
    agents = dict(load_shipped_agents())
    for name, data in own.items():
        known: dict[str, Any] = msgspec.to_builtins(agents[name]) if name in agents else {}
        if not known and "argv" not in data:
            near = suggest_nearest_name(name, agents)
            raise ConfigError(f"{where}agents.{name}: there is no such agent.{near}", f"Known: {', '.join(agents)}.")
        agents[name] = parse_agent_definition(name, {**known, **data}, f"{where}agents.{name}")
    return agents
