"""Three different implementations of one module, as three seats write it, and what a judge wants made of them."""

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
WORDS = {
    "claude": {"name": "Claude", "hashed": HASHED, "bound": "steps"},
    "gpt": {"name": "GPT", "hashed": HASHED, "bound": "max(0, steps)"},
    "gemini": {"name": "Gemini", "hashed": HASHED, "bound": "min(steps, len(HISTORY))"},
}


def part(text: str, seat: str) -> str:
    return text.format(**WORDS[seat])


ACCOUNTS = {seat: "".join(part(section, seat) for section in (HEAD, LOGIN, ROLLBACK, TAIL)) for seat in WORDS}
"""Three different implementations of one module. With seed 7: gpt is candidate-A, claude B and gemini C."""

DIRECTED = (
    part(HEAD, "claude") + part(LOGIN, "gpt") + part(ROLLBACK, "gemini") + part(TAIL, "claude")
)  # fmt: skip
