"""How answers end, and where their reasoning stands."""

from __future__ import annotations

from stream_shapes import Shape, between

ENDS = [
    Shape(name="no last frame", pieces=lambda w: w.say("Hel", "lo")[:-1]),
    Shape(
        name="the connection stays open behind the reason",
        pieces=lambda w: w.say("Hel", "lo")[:-1],
        ending="hang",
    ),
    Shape(
        name="the connection stays open behind the last frame",
        pieces=lambda w: w.say("Hel", "lo"),
        ending="hang",
    ),
    Shape(name="cut behind the reason", pieces=lambda w: w.say("Hel", "lo")[:-1], ending="cut"),
    Shape(name="cut behind the last frame", pieces=lambda w: w.say("Hel", "lo"), ending="cut"),
    Shape(
        name="no reason but the last frame", pieces=lambda w: [w.start(), w.text("Hello"), w.mark]
    ),
    Shape(
        name="neither reason nor last frame",
        pieces=lambda w: [w.start(), w.text("Hello")],
        end="Interrupted",
        says="broke off",
    ),
    Shape(
        name="cut in the middle",
        pieces=lambda w: [w.start(), w.text("Hel")],
        ending="cut",
        text="Hel",
        end="Interrupted",
        says="cut",
    ),
    Shape(
        name="ends inside a frame",
        pieces=lambda w: [w.start(), w.text("Hel"), w.text("lo")[:-9]],
        text="Hel",
        end="Interrupted",
    ),
    Shape(
        name="a frame that cannot be read",
        pieces=between(b"data: {not json\n\n"),
        text="Hel",
        end="Interrupted",
        says="{not json",
    ),
    Shape(
        name="cut at the length limit",
        pieces=lambda w: w.say("Hello", reason="length" if w.is_openai else "max_tokens"),
        end="length",
    ),
    Shape(
        name="the context is full",
        pieces=lambda w: w.say("Hello", reason="model_context_window_exceeded"),
        end="length",
    ),
    Shape(
        name="the filter ended it",
        pieces=lambda w: w.say("Hello", reason="content_filter" if w.is_openai else "refusal"),
        end="Refused",
        says="filter",
    ),
    Shape(
        name="SAFETY",
        pieces=lambda w: w.say("Hello", reason="SAFETY"),
        end="Refused",
        says="SAFETY",
    ),
    Shape(
        name="error as the reason",
        pieces=lambda w: w.say("Hello", reason="error"),
        end="Interrupted",
    ),
    Shape(
        name="abort as the reason",
        pieces=lambda w: w.say("Hello", reason="abort"),
        end="Interrupted",
    ),
    Shape(
        name="out of resources",
        pieces=lambda w: w.say("Hello", reason="insufficient_system_resource"),
        end="Interrupted",
    ),
    Shape(
        name="a tool is called",
        pieces=lambda w: w.say("Hello", reason="tool_calls" if w.is_openai else "tool_use"),
        end="Unfinished",
        says="tool",
    ),
    Shape(name="a pause", pieces=lambda w: w.say("Hello", reason="pause_turn"), end="Unfinished"),
    Shape(
        name="a reason that nobody knows",
        pieces=lambda w: w.say("Hello", reason="mystery"),
        end="Unfinished",
        says='finish_reasons = { "mystery" = "stop" }',
    ),
    Shape(
        name="a reason that the settings know",
        pieces=lambda w: w.say("Hello", reason="Mystery"),
        settings={"finish_reasons": {"mystery": "stop"}},
    ),
    Shape(name="STOP in capitals", pieces=lambda w: w.say("Hello", reason="STOP")),
    Shape(name="eos", pieces=lambda w: w.say("Hello", reason="eos_token")),
    Shape(name="the reason twice", pieces=lambda w: [*w.say("Hello")[:-1], w.end(), w.mark]),
    Shape(
        name="a bad reason behind a good one",
        pieces=lambda w: [*w.say("Hello")[:-1], w.end("error"), w.mark],
        end="Interrupted",
    ),
    Shape(
        name="a good reason behind a bad one",
        pieces=lambda w: [w.start(), w.text("Hello"), w.end("content_filter"), w.end(), w.mark],
        end="Refused",
    ),
    Shape(
        name="text behind the reason",
        pieces=lambda w: [w.start(), w.text("Hel"), w.end(), w.text("lo"), w.mark],
    ),
    Shape(name="no text at all", pieces=lambda w: w.say(), text=""),
    Shape(
        name="characters of no width",
        pieces=lambda w: w.say("\u200b\u2060\ufeff"),
        text="\u200b\u2060\ufeff",
    ),
    Shape(name="bare markup", pieces=lambda w: w.say("**\n\n", "---"), text="**\n\n---"),
    Shape(
        name="an empty code block", pieces=lambda w: w.say("```python\n```"), text="```python\n```"
    ),
]


REASONING = [
    Shape(
        name="think tags",
        pieces=lambda w: w.say("<thi", "nk>because</th", "ink>\n\nHello"),
        reasoning="because",
    ),
    Shape(
        name="thinking tags",
        pieces=lambda w: w.say("<thinking>because</thinking>Hello"),
        reasoning="because",
    ),
    Shape(
        name="tags in brackets",
        pieces=lambda w: w.say("[THINK]because[/THINK]Hello"),
        reasoning="because",
    ),
    Shape(
        name="tags of the model's own",
        pieces=lambda w: w.say("<plan>because</plan>Hello"),
        reasoning="because",
        settings={"reasoning": {"tags": ["<plan>", "</plan>"]}},
    ),
    Shape(
        name="no opening tag, as the settings say",
        pieces=lambda w: w.say("because", "</think>\n\nHello"),
        reasoning="because",
        settings={"reasoning": {"begins_inside": True}},
    ),
    Shape(
        name="no opening tag",
        pieces=lambda w: w.say("because\n</think>", "\n\nHello"),
        reasoning="because",
    ),
    Shape(
        name="a closing tag that was left behind", pieces=lambda w: w.say("\n</think>\n\n", "Hello")
    ),
    Shape(
        name="channels",
        pieces=lambda w: w.say(
            "<|channel|>analysis<|message|>be",
            "cause<|end|><|start|>assistant",
            "<|channel|>final<|message|>Hello<|return|>",
        ),
        reasoning="because",
    ),
    Shape(
        name="channels without their marks",
        pieces=lambda w: w.say("analysisbecauseassistantfinalHello"),
        reasoning="because",
    ),
    Shape(
        name="tags that the answer is about",
        pieces=lambda w: w.say("Close it with `</think>`."),
        text="Close it with `</think>`.",
    ),
    Shape(
        name="reasoning alone",
        pieces=lambda w: w.say("<think>because</think>"),
        text="",
        reasoning="because",
    ),
    Shape(
        name="reasoning that nothing closes",
        pieces=lambda w: w.say("<think>because"),
        text="",
        reasoning="because",
    ),
]
