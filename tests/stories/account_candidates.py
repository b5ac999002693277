"""Three implementations of one module by three seats, and the merge that a judge's ruling asks for."""

from __future__ import annotations

HEAD = '''"""{name}'s accounts."""

import hashlib

USERS = {{}}
HISTORY = []


def add(user, secret):
    """{name} adds a user."""
    HISTORY.append(dict(USERS))
    USERS[user] = {hashed}


'''
LOGIN = """def login(user, secret):
    # {name}
    return USERS.get(user) == {hashed}


"""
ROLLBACK = """def rollback(steps=1):
    # {name}
    for _ in range({bound}):
        USERS.clear()
        USERS.update(HISTORY.pop())


"""
TAIL = """def users():
    # {name}, with  odd   spaces
    return sorted(USERS)
"""
HASHED = "hashlib.sha256(secret.encode()).hexdigest()"
SECTION_VALUES = {
    "claude": {"name": "Claude", "hashed": HASHED, "bound": "steps"},
    "gpt": {"name": "GPT", "hashed": HASHED, "bound": "max(0, steps)"},
    "gemini": {"name": "Gemini", "hashed": HASHED, "bound": "min(steps, len(HISTORY))"},
}


def render_section(text: str, seat: str) -> str:
    """Return one section of the module as a seat writes it."""
    return text.format(**SECTION_VALUES[seat])


ACCOUNTS = {
    seat: "".join(render_section(section, seat) for section in (HEAD, LOGIN, ROLLBACK, TAIL)) for seat in SECTION_VALUES
}
"""The module of each seat. With seed 7 gpt is candidate-A, claude B and gemini C."""

MERGED_ACCOUNTS = "".join(
    render_section(section, seat)
    for section, seat in ((HEAD, "claude"), (LOGIN, "gpt"), (ROLLBACK, "gemini"), (TAIL, "claude"))
)
