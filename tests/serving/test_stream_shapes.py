"""Every shape of an answer over both APIs: what is kept, how it ends, may it be voted on."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import USER_ASKS
from played_apis import KEY, Api, spec_for
from shapes_of_anthropic import ANTHROPIC_SHAPES
from shapes_of_ends import ENDS, REASONING
from shapes_of_errors import ERRORS
from shapes_of_framing import BYTES, FRAMING
from shapes_of_openai import OPENAI_SHAPES

from serving import Completion, ReasoningDelta, Roster, ServingError, TextDelta
from serving.emptiness import says_nothing

if TYPE_CHECKING:
    from misbehaving_provider import Provider
    from stream_shapes import ApiName, Shape

    from serving import ChatModel


SHAPES = [*FRAMING, *BYTES, *ENDS, *REASONING, *ERRORS, *OPENAI_SHAPES, *ANTHROPIC_SHAPES]
CASES = [(shape, api) for shape in SHAPES for api in shape.apis]


async def hear(model: ChatModel) -> tuple[str, str, str, str, bool]:
    """Text, reasoning, end, words of the error, and whether it may be voted on."""
    text, reasoning = "", ""
    try:
        async with aclosing(model.stream(USER_ASKS)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    text += event.text
                elif isinstance(event, ReasoningDelta):
                    reasoning += event.text
                else:
                    assert isinstance(event, Completion)
                    is_votable = not says_nothing(event.text)
                    return event.text, event.reasoning, event.finish_reason, "", is_votable
    except ServingError as error:
        return text, reasoning, type(error).__name__, str(error), False
    raise AssertionError("neither a completion nor an error")


@pytest.mark.parametrize(("shape", "api"), CASES, ids=[f"{api}: {s.name}" for s, api in CASES])
async def test_what_providers_send_is_read(shape: Shape, api: ApiName, provider: Provider) -> None:
    provider.script = [shape.play(api)]
    spec = spec_for(Api(api), provider.root_url, **shape.settings)
    async with Roster([spec], environ={"IT_KEY": KEY}) as roster:
        text, reasoning, end, words, is_votable = await hear(roster.models["it"])
    assert (text, reasoning, end) == (shape.text, shape.reasoning, shape.end), words
    assert is_votable == shape.is_votable
    assert shape.says in words
    assert "8Tv" not in words


def test_there_are_enough_shapes_of_each_api_and_no_two_alike() -> None:
    counts = Counter(api for _, api in CASES)
    assert min(counts["openai"], counts["anthropic"]) >= 60
    assert [name for name, times in Counter(s.name for s in SHAPES).items() if times > 1] == []
