"""The base of every dialect: how a request is encoded, and how a reply is read event by event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, cast

import msgspec

from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.values import Message, Request, Usage
from roundtable.voices.endpoints import Endpoint, ReplyConstraint

RequestBody = dict[str, Any]

decode_json_object = msgspec.json.Decoder(dict[str, Any]).decode


class ReplyReader(ABC):
    """The state of one reply. A dialect fills it in; the transport reads the fields."""

    def __init__(self) -> None:
        self.done = False
        """The server will send nothing more."""
        self.finished = False
        """The model gave its reason for stopping."""
        self.truncated = False
        """The reply stopped at its token limit."""
        self.filtered = False
        """A filter stopped the reply, or the model declined, whatever words came before."""
        self.refusal = ""
        """The words in which the model declined."""
        self.model = ""
        self.error: Any = None

    @abstractmethod
    def read(self, data: bytes) -> str:
        """Read the data of one event and return its words; raises DecodeError if it is not JSON."""

    def whole(self, body: bytes) -> str:
        """Read a reply that came in one piece from a server that does not stream."""
        return self.read(body)

    @abstractmethod
    def usage(self) -> Usage | None:
        """Return the usage that the server reported, or None."""

    def odd(self, data: bytes) -> str:
        """Read an event of an unusual shape: only an error in it matters."""
        self.error = decode_json_object(data).get("error")
        return ""


class Dialect(ABC):
    """One wire format for one model of one endpoint."""

    means: ClassVar[tuple[ReplyConstraint, ...]] = ("schema",)
    """The ways in which this dialect can hold a reply to a schema."""

    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.endpoint = endpoint
        self.model = model
        held_by = endpoint.find_reply_constraint(model)
        self.held_by: ReplyConstraint = held_by if held_by in self.means else ""
        self._omitted_keys = endpoint.find_omitted_keys(model)

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of a request."""

    @abstractmethod
    def body(self, request: Request) -> RequestBody:
        """Return the request as data; prompts are sent word for word."""

    @abstractmethod
    def answer(self) -> ReplyReader:
        """Create a reader for one reply."""

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {key}"}

    def max_output_tokens(self, request: Request) -> int:
        """Return the limit on the reply, with room for thinking before it."""
        thinks = self.endpoint.is_reasoning_model(self.model)
        return request.max_tokens + (self.endpoint.thinking_tokens if thinks else 0)

    def build_reply_schema(self, request: Request) -> dict[str, Any] | None:
        """Return the schema of the reply without keywords that this server does not support, or None."""
        if request.schema is None or not self.held_by:
            return None
        return _remove_schema_keywords(request.schema, self.endpoint.schema_without)

    def apply_endpoint_settings(self, settings: RequestBody) -> RequestBody:
        """Return the settings with the endpoint's key names, without the keys it rejects."""
        rename = self.endpoint.rename
        return {rename.get(key, key): value for key, value in settings.items() if key not in self._omitted_keys}


def join_system_messages_for_provider(messages: Iterable[Message]) -> str:
    """Return all system messages as one text, for dialects that send it separately."""
    return "\n\n".join(replace_surrogates_in_text(message.text) for message in messages if message.role == "system")


def group_dialect_messages(messages: Iterable[Message]) -> list[tuple[Literal["user", "assistant"], list[str]]]:
    """Return the messages as alternating turns; consecutive messages of one role become parts of one turn."""
    groups: list[tuple[Literal["user", "assistant"], list[str]]] = []
    for message in messages:
        if message.role == "system" or not message.text.strip():
            continue
        if groups and groups[-1][0] == message.role:
            groups[-1][1].append(replace_surrogates_in_text(message.text))
        else:
            groups.append((message.role, [replace_surrogates_in_text(message.text)]))
    return groups


def _remove_schema_keywords(schema: dict[str, Any], keywords: tuple[str, ...]) -> dict[str, Any]:
    """Return a JSON schema without some keywords; properties that share such a name are kept."""
    remaining: dict[str, Any] = {}
    for key, value in schema.items():
        if key in keywords:
            continue
        if key == "properties":
            remaining[key] = {name: _remove_schema_keywords(part, keywords) for name, part in value.items()}
        elif isinstance(value, dict):
            remaining[key] = _remove_schema_keywords(cast(dict[str, Any], value), keywords)
        else:
            remaining[key] = value
    return remaining


def is_schema_strict_for_provider(schema: object) -> bool:
    """Return whether every object requires all its keys and allows no others, as strict mode demands."""
    if isinstance(schema, list):
        return all(is_schema_strict_for_provider(item) for item in cast(list[object], schema))
    if not isinstance(schema, dict):
        return True
    table = cast(dict[str, Any], schema)
    properties: Any = table.get("properties")
    if isinstance(properties, dict):
        names = set(cast(dict[str, Any], properties))
        if table.get("additionalProperties") is not False or set(table.get("required", ())) != names:
            return False
    return all(is_schema_strict_for_provider(value) for value in table.values())
