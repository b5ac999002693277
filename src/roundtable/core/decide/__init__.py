"""The rules of meetings, without any I/O: what counts, what comes of it, and the sentences that say so."""

from __future__ import annotations

from roundtable.core.decide.agreement import key_convergence, no_objection, score_threshold
from roundtable.core.decide.ruling import Ruling, judge
from roundtable.core.decide.vote import condorcet_winner, irv_winners, pairwise, ranked

__all__ = [
    "Ruling",
    "condorcet_winner",
    "irv_winners",
    "judge",
    "key_convergence",
    "no_objection",
    "pairwise",
    "ranked",
    "score_threshold",
]
