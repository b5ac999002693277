"""Decision rules, pure: count votes, rank tried candidates, weigh findings, check decrees, and give typed reasons."""

from __future__ import annotations

from roundtable.core.decide.agreement import rule_no_objection, rule_root_cause_convergence, rule_score_threshold
from roundtable.core.decide.ruling import Ruling, rule_by_judge
from roundtable.core.decide.vote import condorcet_winner, instant_runoff_winners, pairwise_preferences, rule_ranked_vote

__all__ = [
    "Ruling",
    "condorcet_winner",
    "instant_runoff_winners",
    "pairwise_preferences",
    "rule_by_judge",
    "rule_no_objection",
    "rule_ranked_vote",
    "rule_root_cause_convergence",
    "rule_score_threshold",
]
