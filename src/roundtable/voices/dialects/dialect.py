"""What a dialect is: how a request is written down, and how an answer is read, event by event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, cast

import msgspec

from roundtable.core.values import Message, Request, Usage
from roundtable.voices.endpoints import Endpoint, ReplyConstraint

RequestBody = dict[str, Any]

decode_json_object = msgspec.json.Decoder(dict[str, Any]).decode


class ReplyReader(ABC):
    """What one answer has told so far. A dialect fills it in; the transport asks it how things stand."""

    def __init__(self) -> None:
        self.done = False
        """Nothing more will come."""
        self.finished = False
        """The model said why it stopped."""
        self.truncated = False
        """It stopped at its token limit."""
        self.filtered = False
        """It was stopped, or declined, whatever words came before."""
        self.refusal = ""
        """The words in which it declined."""
        self.model = ""
        self.error: Any = None

    @abstractmethod
    def read(self, data: bytes) -> str:
        """Take the data of one event and return the words in it; raises DecodeError where it is not JSON."""

    def whole(self, body: bytes) -> str:
        """Take an answer that came in one piece, from a server that does not stream."""
        return self.read(body)

    @abstractmethod
    def usage(self) -> Usage | None:
        """What the server counted, or nothing where it counted nothing."""

    def odd(self, data: bytes) -> str:
        """An event of another shape than usual: only an error in it is worth knowing."""
        self.error = decode_json_object(data).get("error")
        return ""


class Dialect(ABC):
    """One wire format, spoken to one model of one endpoint."""

    means: ClassVar[tuple[ReplyConstraint, ...]] = ("schema",)
    """The ways in which this dialect can hold a reply to a form."""

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
        """Where a request goes."""

    @abstractmethod
    def body(self, request: Request) -> RequestBody:
        """The request as it goes over the wire: the prompt word for word."""

    @abstractmethod
    def answer(self) -> ReplyReader:
        """A reader for one answer."""

    def key_headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"authorization": f"Bearer {key}"}

    def max_output_tokens(self, request: Request) -> int:
        """The limit on what is said, with room for what is thought before."""
        thinks = self.endpoint.is_reasoning_model(self.model)
        return request.max_tokens + (self.endpoint.thinking_tokens if thinks else 0)

    def build_reply_schema(self, request: Request) -> dict[str, Any] | None:
        """The form a reply must have, in the words this server knows."""
        if request.schema is None or not self.held_by:
            return None
        return remove_schema_keywords(request.schema, self.endpoint.schema_without)

    def apply_endpoint_settings(self, settings: RequestBody) -> RequestBody:
        """Settings under the names that this server knows, without those it refuses."""
        rename = self.endpoint.rename
        return {rename.get(key, key): value for key, value in settings.items() if key not in self._omitted_keys}


def replace_surrogates(text: str) -> str:
    """Text without halves of characters, which come in from odd file names and cannot be sent."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def join_system_prompt(messages: Iterable[Message]) -> str:
    """What the model is told about itself, for dialects that keep it apart."""
    return "\n\n".join(replace_surrogates(message.text) for message in messages if message.role == "system")


def group_turns(messages: Iterable[Message]) -> list[tuple[Literal["user", "assistant"], list[str]]]:
    """The talk as turns that alternate; what one side said in a row becomes parts of one turn."""
    found: list[tuple[Literal["user", "assistant"], list[str]]] = []
    for message in messages:
        if message.role == "system" or not message.text.strip():
            continue
        if found and found[-1][0] == message.role:
            found[-1][1].append(replace_surrogates(message.text))
        else:
            found.append((message.role, [replace_surrogates(message.text)]))
    return found


def remove_schema_keywords(schema: dict[str, Any], keywords: tuple[str, ...]) -> dict[str, Any]:
    """A JSON schema without some keywords; a property may well be called like one."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in keywords:
            continue
        if key == "properties":
            kept[key] = {name: remove_schema_keywords(part, keywords) for name, part in value.items()}
        elif isinstance(value, dict):
            kept[key] = remove_schema_keywords(cast(dict[str, Any], value), keywords)
        else:
            kept[key] = value
    return kept


def is_strict_schema(schema: object) -> bool:
    """Whether every object names all its keys as required and allows no others, as strict mode demands."""
    if isinstance(schema, list):
        return all(is_strict_schema(item) for item in cast(list[object], schema))
    if not isinstance(schema, dict):
        return True
    table = cast(dict[str, Any], schema)
    properties: Any = table.get("properties")
    if isinstance(properties, dict):
        names = set(cast(dict[str, Any], properties))
        if table.get("additionalProperties") is not False or set(table.get("required", ())) != names:
            return False
    return all(is_strict_schema(value) for value in table.values())
