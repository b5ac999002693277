"""What people and programs see of a session: pure functions of its fold."""

from roundtable.core.views.clean import clean, one_line
from roundtable.core.views.costs import Cost, Costs, costs, money, price
from roundtable.core.views.page import page, round_page
from roundtable.core.views.states import find_round, seat_states, status_words
from roundtable.core.views.summary import round_summary, summary, usage_summary
from roundtable.core.views.transcript import bill, round_transcript, transcript

__all__ = [
    "Cost",
    "Costs",
    "bill",
    "clean",
    "costs",
    "find_round",
    "money",
    "one_line",
    "page",
    "price",
    "round_page",
    "round_summary",
    "round_transcript",
    "seat_states",
    "status_words",
    "summary",
    "transcript",
    "usage_summary",
]
