"""Decision rules that a recipe names, with their parameters; all have the same method `conclude`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, get_args

import msgspec

from roundtable.core.decide import code_red, knights
from roundtable.core.decide import debate as debating
from roundtable.core.decide.decision import last_moves_counted_in_decision
from roundtable.core.decide.vote import RankedPoll, decide_vote, ranked_vote_candidates
from roundtable.core.reasons import PersonChose
from roundtable.core.values import Charter, Decision, Outcome, Proposal, Round


class RuleInput(msgspec.Struct, frozen=True):
    """The input of a decision rule: all rounds, the newest round of pitches, and the rounds that the rule counts.

    `deciding` are the rounds whose answers have the format of the rule.
    """

    charter: Charter
    labels: Mapping[str, str]
    rounds: tuple[Round, ...] = ()
    pitched: Round | None = None
    deciding: tuple[Round, ...] = ()

    @property
    def candidates(self) -> tuple[Proposal, ...]:
        """The proposals of a vote: the given options, or the pitches of the seats."""
        return ranked_vote_candidates(self.charter.options, self.pitched, self.labels)


class DecisionRuleBase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name"):
    """The base of decision rules: the reply format that the rule counts, and whether it needs a round of pitches."""

    codec: ClassVar[str] = ""
    pitches: ClassVar[bool] = False


class ScoreThresholdRule(DecisionRuleBase, frozen=True, tag="score_threshold"):
    """Reached when every score is at least the minimum and no blocking issue is open."""

    codec: ClassVar[str] = "score-json"
    minimum: float = 9
    pending_blocks: Literal["marked", "any"] = "marked"

    def conclude(self, rule_input: RuleInput) -> Decision:
        """Decide, in the words of the seat with the highest score."""
        accord = knights.rule_knights_accord(rule_input.deciding, self.minimum, self.pending_blocks)
        lead = knights.decide_knights_lead(accord, rule_input.charter.seats, rule_input.charter.question)
        return knights.decide_knights(accord, lead, "")


class NoObjectionRule(DecisionRuleBase, frozen=True, tag="no_objection"):
    """Reached when one pitch has enough support and no seat objects."""

    codec: ClassVar[str] = "agree-object-add"
    pitches: ClassVar[bool] = True
    support: Literal["majority", "all"] = "majority"

    def conclude(self, rule_input: RuleInput) -> Decision:
        """Decide, in the words of the seat that pitched the winner."""
        assert rule_input.pitched is not None
        debate = msgspec.structs.replace(
            debating.Debate.after_blind_round(rule_input.pitched), rounds=rule_input.deciding
        )
        return debating.decide_debate(debate, self.support)


class KeyConvergenceRule(DecisionRuleBase, frozen=True, tag="key_convergence"):
    """Reached when enough confident seats name the same root cause."""

    codec: ClassVar[str] = "diagnosis-json"
    seats: Annotated[int, msgspec.Meta(ge=1)] = 2
    confidence: float = 8
    similarity: float = 0.7

    def conclude(self, rule_input: RuleInput) -> Decision:
        """Decide, in the words of the most confident seat."""
        criteria = code_red.RootCauseCriteria(self.seats, self.confidence, self.similarity)
        return code_red.decide_code_red(rule_input.deciding, criteria)


class RankedVoteRule(DecisionRuleBase, frozen=True, tag="ranked"):
    """Rank the options or pitches: the Condorcet winner, or else the winner by elimination."""

    codec: ClassVar[str] = "ranked-ballot"

    def conclude(self, rule_input: RuleInput) -> Decision:
        """Decide, in the words of the seat that ranked the winner highest; of equals, the seat that pitched it."""
        argued = tuple(round for round in rule_input.rounds if round not in rule_input.deciding)
        return decide_vote(RankedPoll(rule_input.candidates, rule_input.deciding[-1], argued))


DecisionRule = ScoreThresholdRule | NoObjectionRule | KeyConvergenceRule | RankedVoteRule
DECISION_RULE_NAMES = tuple(str(rule.__struct_config__.tag) for rule in get_args(DecisionRule))


def decide_chosen_by_person(decision: Decision, id: str, rule_input: RuleInput) -> Decision:
    """The decision after the person chose a proposal, in the words of its author, if it has one."""
    chosen = next(proposal for proposal in decision.proposals if proposal.id == id)
    words = last_moves_counted_in_decision(rule_input.rounds)
    spokesman = next((words[author] for author in chosen.authors if author in words), None)
    return msgspec.structs.replace(
        decision,
        outcome=Outcome.REACHED,
        how=(PersonChose(id), *decision.how),
        winner=id,
        position=chosen.text,
        text=spokesman.text if spokesman else "",
        author=spokesman.seat if spokesman else "",
        dissent=tuple(dissent for dissent in decision.dissent if spokesman is None or dissent.seat != spokesman.seat),
    )
