"""Decision rules, pure: count votes, rank tried candidates, weigh findings, check decrees, and give typed reasons."""

from __future__ import annotations

from roundtable.core.decide.agreement import rule_key_convergence, rule_no_objection, rule_score_threshold
from roundtable.core.decide.ruling import Ruling, rule_by_judge
from roundtable.core.decide.vote import condorcet_winner, instant_runoff_winners, pairwise_preferences, rule_ranked_vote

__all__ = [
    "Ruling",
    "condorcet_winner",
    "instant_runoff_winners",
    "pairwise_preferences",
    "rule_by_judge",
    "rule_key_convergence",
    "rule_no_objection",
    "rule_ranked_vote",
    "rule_score_threshold",
]
