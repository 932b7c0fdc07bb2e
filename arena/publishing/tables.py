"""The tables of an export: what each column holds, and what is done to it on the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "whole", "number", "time", "truth", "list"]
Way = Literal["open", "voter", "said", "length"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a published table.

    Attributes:
        name: in the file.
        kind: of its values; times are UTC, to the microsecond.
        told: what it holds, for people.
        way: `open` as it is on record, `voter` under a pseudonym, `said` only where texts were
            asked for and masked then, `length` of another column, in characters.
        of: where it is a length, the column that is measured.
    """

    name: str
    kind: Kind
    told: str
    way: Way = "open"
    of: str = ""


def _column(name: str, kind: Kind, told: str, way: Way = "open", of: str = "") -> Column:
    return Column(name=name, kind=kind, told=told, way=way, of=of)


_BATTLE = _column("battle_id", "text", "the battle")
_VOTER = _column("voter", "text", "a pseudonym, another one in every export", "voter")
_A = _column("model_a", "text", "the model on the left")
_B = _column("model_b", "text", "the model on the right")
_CATEGORY = _column("category", "text", "of the first prompt, where it is known")
_LANGUAGE = _column("language", "text", "of the first prompt (BCP 47), where it is known")
_SOURCE = _column("source", "text", "where an imported battle came from; empty for our own")
_TIME = _column("created_at", "time", "when")

TABLES: dict[str, tuple[Column, ...]] = {
    "models": (
        _column("name", "text", "as on the board"),
        _column("organisation", "text", "who made it"),
        _column("license", "text", "of the model"),
        _column("price_input", "number", "US dollars a million tokens"),
        _column("price_output", "number", "US dollars a million tokens"),
        _column("description", "text", "the maintainer's words"),
        _column("battles", "whole", "in which it was drawn"),
        _column("first_drawn_at", "time", "its first battle"),
        _column("last_drawn_at", "time", "its last battle"),
    ),
    "variants": (
        _column("model", "text", "as on the board"),
        _column("model_id", "text", "what its provider called it when it answered"),
        _column("responses", "whole", "answers under that name"),
        _column("first_at", "time", "the first of them"),
        _column("last_at", "time", "the last of them"),
    ),
    "draws": (
        _column("policy", "text", "what drew the pair"),
        _column("policy_version", "whole", "which edition of it"),
        _A,
        _B,
        _column("battles", "whole", "how often the pair was drawn, sides as shown"),
        _column("least_probability", "number", "the least chance that the pair was given"),
        _column("greatest_probability", "number", "the greatest"),
    ),
    "voters": (
        _VOTER,
        _column("kind", "text", "crowd, expert, judge or program"),
        _column("created_at", "time", "the first battle"),
        _column("excluded_reason", "text", "why none of their votes counts, if so"),
        _column("consent_version", "text", "which wording they were shown"),
        _column("consented_at", "time", "when"),
        _column("bucket", "whole", "their part of counts.parquet"),
    ),
    "battles": (
        _BATTLE,
        _VOTER,
        _A,
        _B,
        _column("policy", "text", "what drew the pair"),
        _column("policy_version", "whole", "which edition of it"),
        _column("probability", "number", "the chance that this pair was given"),
        _column("candidates", "whole", "models that could have been drawn"),
        _CATEGORY,
        _LANGUAGE,
        _SOURCE,
        _column("status", "text", "answering, ready, failed, abandoned or voted"),
        _TIME,
    ),
    "turns": (
        _BATTLE,
        _column("turn", "whole", "from 0"),
        _column("prompt", "text", "what was asked", "said"),
        _column("reference", "text", "a right answer, where a prompt set has one", "said"),
        _TIME,
        _column("prompt_characters", "whole", "length of the prompt", "length", "prompt"),
    ),
    "responses": (
        _BATTLE,
        _column("turn", "whole", "from 0"),
        _column("side", "text", "a on the left, b on the right"),
        _column("attempt", "whole", "from 0; the highest counts"),
        _column("status", "text", "complete, failed or cancelled"),
        _column("text", "text", "the answer", "said"),
        _column("reasoning", "text", "the model's reasoning, hidden until the vote", "said"),
        _column("finish_reason", "text", "the provider's word"),
        _column("prompt_tokens", "whole", "as the provider counted"),
        _column("completion_tokens", "whole", "as the provider counted"),
        _column("time_to_first_token", "number", "seconds"),
        _column("duration", "number", "seconds"),
        _column("error_kind", "text", "of an answer that failed"),
        _column("model_id", "text", "what its provider called the model"),
        _TIME,
        _column("characters", "whole", "length of the answer", "length", "text"),
    ),
    "votes": (
        _BATTLE,
        _VOTER,
        _A,
        _B,
        _column("winner", "text", "model_a, model_b, tie or tie (bothbad)"),
        _CATEGORY,
        _LANGUAGE,
        _column("probability", "number", "the chance that this pair was given"),
        _SOURCE,
        _TIME,
        _column("retracted_at", "time", "when the voter took it back"),
        _column("counts", "truth", "whether the leaderboards count it"),
    ),
    "exclusions": (
        _BATTLE,
        _VOTER,
        _SOURCE,
        _column("reason", "text", "why the vote does not count"),
        _column("note", "text", "the same in the maintainer's words", "said"),
        _TIME,
        _column("lifted_at", "time", "from when on it counts again"),
    ),
    "expert_verdicts": (
        _BATTLE,
        _VOTER,
        _column("assignment", "text", "the study"),
        _A,
        _B,
        _column("winner", "text", "in the battle's own orientation"),
        _column("cannot_judge", "text", "why there is no winner"),
        _column("arm", "text", "blind, shown or planted"),
        _column("shown_winner", "text", "the verdict that the expert was shown"),
        _column("swapped", "truth", "whether the sides were exchanged for the expert"),
        _column("reasons", "list", "what decided it"),
        _column("comment", "text", "in the expert's words", "said"),
        _column("seconds", "number", "spent on it"),
        _TIME,
    ),
    "judge_verdicts": (
        _BATTLE,
        _column("turn", "whole", "from 0"),
        _column("swapped", "truth", "whether the answer of side B was shown first"),
        _column("judge", "text", "its name"),
        _column("judge_model", "text", "the model that it is"),
        _column("mode", "text", "how it was asked"),
        _column("prompts_hash", "text", "a digest of the prompts it was given"),
        _A,
        _B,
        _CATEGORY,
        _column("verdict", "text", "in the battle's own orientation, if one could be read"),
        _column("reading", "text", "how the verdict was read"),
        _column("output", "text", "what it wrote", "said"),
        _column("prompt_tokens", "whole", "as the provider counted"),
        _column("completion_tokens", "whole", "as the provider counted"),
        _column("cost", "number", "US dollars"),
        _column("duration", "number", "seconds"),
        _column("created_at", "time", "when it answered"),
    ),
}
"""By name; the columns are those of the queries in `arena.store.published_rows`, in order, and
the lengths of texts behind them."""

NEVER = {
    "the addresses and browsers of voters": "they are not on record",
    "what servers said about errors": "it may hold names of machines and keys",
    "the names of experts and their links": "experts appear under pseudonyms",
}
"""What no export holds, and why."""
