"""JSON Schemas small enough for a tiny model with a grammar, and their description as written instructions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from roundtable.core.replies.codec import Schema

ANSWER_FIELD = "answer"
"""The field with the prose. It comes first so that a model reasons before it votes."""


def reply_text_schema(meaning: str, limit: int = 300) -> Schema:
    """A string of limited length."""
    return {"type": "string", "description": meaning, "maxLength": limit}


def reply_choice_schema(meaning: str, choices: Sequence[str], limit: int = 160) -> Schema:
    """One of the choices, or any short string without choices."""
    if not choices:
        return reply_text_schema(meaning, limit)
    return {"type": "string", "description": f"{meaning}: {' | '.join(choices)}", "enum": list(choices)}


def reply_score_schema(meaning: str) -> Schema:
    """An integer from 0 to 10."""
    return {"type": "integer", "description": f"0 to 10, {meaning}", "minimum": 0, "maximum": 10}


def reply_boolean_schema(meaning: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": f"true or false, {meaning}"}


def reply_list_schema(item: Schema, most: int = 8, least: int = 0) -> Schema:
    """A list of limited length."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def reply_object_schema(properties: dict[str, Schema]) -> Schema:
    """An object with exactly these fields, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def reply_prose_first_schema(properties: dict[str, Schema], limit: int = 1500) -> Schema:
    """An object that begins with prose."""
    return reply_object_schema({ANSWER_FIELD: reply_text_schema("your answer in prose", limit), **properties})


def reply_block_instructions(schema: Schema) -> str:
    """Instructions for a voice that writes freely: prose, then one fenced block."""
    properties = cast("dict[str, Schema]", schema["properties"])
    block = ",\n".join(
        f"  {json.dumps(name)}: {_sample_value(part)}" for name, part in properties.items() if name != ANSWER_FIELD
    )
    opening = "Write your answer in prose. Then end" if ANSWER_FIELD in properties else "Answer"
    return (
        f"{opening} with exactly one block in this form, with your own values in place of <…>:\n\n"
        f"```json\n{{\n{block}\n}}\n```"
    )


def reply_field_instructions(schema: Schema) -> str:
    """Instructions for a voice constrained by the schema: the fields and their meaning."""
    properties = cast("dict[str, Schema]", schema["properties"])
    meanings = "\n".join(f"- {name}: {_describe_schema(part)}" for name, part in properties.items())
    return f"Reply with one JSON object with these fields:\n{meanings}"


def _sample_value(schema: Schema) -> str:
    """A value's place in the form. Numbers stay unquoted, so that an echoed form is not readable as a vote."""
    match schema["type"]:
        case "object":
            return (
                "{"
                + ", ".join(f"{json.dumps(name)}: {_sample_value(part)}" for name, part in _schema_fields(schema))
                + "}"
            )
        case "array":
            return f"[{_sample_value(schema['items'])}]"
        case "string":
            return f'"<{schema["description"]}>"'
        case _:
            return f"<{schema['description']}>"


def _describe_schema(schema: Schema) -> str:
    match schema["type"]:
        case "object":
            return "an object with " + "; ".join(
                f"{name} ({_describe_schema(part)})" for name, part in _schema_fields(schema)
            )
        case "array":
            empty = "" if schema["minItems"] else ", empty if there is nothing"
            return f"a list{empty}; each entry: {_describe_schema(schema['items'])}"
        case _:
            return str(schema["description"])


def _schema_fields(schema: Schema) -> list[tuple[str, Schema]]:
    return list(cast("dict[str, Schema]", schema["properties"]).items())
