"""Decision rules: pure functions of moves and electorate, from which a meeting makes its decision."""

from __future__ import annotations

from roundtable.core.rules.agreement import key_convergence, no_objection, score_threshold
from roundtable.core.rules.base import Ruling
from roundtable.core.rules.rulings import approvals, human, judge
from roundtable.core.rules.voting import condorcet_winner, irv_winners, pairwise, ranked

__all__ = [
    "Ruling",
    "approvals",
    "condorcet_winner",
    "human",
    "irv_winners",
    "judge",
    "key_convergence",
    "no_objection",
    "pairwise",
    "ranked",
    "score_threshold",
]
