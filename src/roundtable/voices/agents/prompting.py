"""A conversation as the one text an agent reads from its standard input."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.values import Message

PLAIN = "You take part in a discussion. Answer in plain text."
"""What an agent is told to be where nobody says."""


def system_text(messages: Sequence[Message]) -> str:
    """Everything the agent is told before the conversation begins."""
    return "\n\n".join(sound(message.text) for message in messages if message.role == "system") or PLAIN


def conversation_text(messages: Sequence[Message]) -> str:
    """A single question as it is; what came before it is read out first, each turn between marks."""
    *earlier, last = [message for message in messages if message.role != "system"] or [Message("user", "")]
    if not earlier:
        return sound(last.text)
    turns = [f'<turn by="{_who(message)}">\n{_inside(message)}\n</turn>' for message in earlier]
    return "\n\n".join(["This was said so far:", *turns, "Now answer this:", sound(last.text)])


def sound(text: str) -> str:
    """The text without what no pipe can carry: half characters and nulls."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _who(message: Message) -> str:
    return "you" if message.role == "assistant" else "the table"


def _inside(message: Message) -> str:
    return sound(message.text).replace("</turn", "<\\/turn")
