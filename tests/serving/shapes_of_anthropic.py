"""What only those who speak Anthropic's API send."""

from __future__ import annotations

from stream_shapes import ApiName, Shape, between, frame, instead

ANTHROPIC: tuple[ApiName, ...] = ("anthropic",)
ANTHROPIC_SHAPES = [
    Shape(
        name="usage null",
        pieces=lambda w: [w.start(usage=False), w.text("Hello"), w.end(usage=False), w.mark],
        apis=ANTHROPIC,
    ),
    Shape(
        name="usage with nulls",
        pieces=lambda w: [
            w.start({"input_tokens": None, "cache_read_input_tokens": None}),
            w.text("Hello"),
            w.end(usage={"output_tokens": None}),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="usage absent",
        pieces=lambda w: [
            frame({"type": "message_start", "message": {"model": "m"}}, "message_start"),
            w.text("Hello"),
            frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, "message_delta"),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="usage as texts",
        pieces=lambda w: [
            w.start({"input_tokens": "7"}),
            w.text("Hello"),
            w.end(usage={"output_tokens": "2"}),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(name="no message_start", pieces=lambda w: w.say("Hello")[1:], apis=ANTHROPIC),
    Shape(
        name="message null",
        pieces=lambda w: [
            frame({"type": "message_start", "message": None}, "message_start"),
            *w.say("Hello")[1:],
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="an unknown event",
        pieces=between(frame({"type": "telemetry", "load": 3}, "telemetry")),
        apis=ANTHROPIC,
    ),
    Shape(
        name="an unknown block",
        pieces=between(
            frame(
                {"type": "content_block_start", "content_block": {"type": "novelty", "data": "x"}},
                "content_block_start",
            )
        ),
        apis=ANTHROPIC,
    ),
    Shape(
        name="an unknown delta",
        pieces=lambda w: between(w.block({"type": "novelty_delta", "data": "x"}))(w),
        apis=ANTHROPIC,
    ),
    Shape(name="a delta null", pieces=lambda w: between(w.block(None))(w), apis=ANTHROPIC),
    Shape(
        name="a delta without a type",
        pieces=lambda w: [w.start(), w.block({"text": "Hello"}), w.end(), w.mark],
        apis=ANTHROPIC,
    ),
    Shape(
        name="events named only",
        pieces=lambda w: [
            w.start(),
            frame({"delta": {"type": "text_delta", "text": "Hello"}}, "content_block_delta"),
            w.end(),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="text where a block starts",
        pieces=lambda w: [
            w.start(),
            frame(
                {"type": "content_block_start", "content_block": {"type": "text", "text": "Hel"}},
                "content_block_start",
            ),
            w.text("lo"),
            w.end(),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="thinking",
        pieces=lambda w: [
            w.start(),
            w.block({"type": "thinking_delta", "thinking": "because"}),
            w.block({"type": "signature_delta", "signature": "x"}),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=ANTHROPIC,
    ),
    Shape(
        name="redacted thinking",
        pieces=lambda w: [
            w.start(),
            frame(
                {
                    "type": "content_block_start",
                    "content_block": {"type": "redacted_thinking", "data": "x"},
                },
                "content_block_start",
            ),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="citations",
        pieces=lambda w: between(
            w.block({"type": "citations_delta", "citation": {"cited_text": "x"}})
        )(w),
        apis=ANTHROPIC,
    ),
    Shape(
        name="a tool's arguments",
        pieces=lambda w: between(w.block({"type": "input_json_delta", "partial_json": "{"}))(w),
        apis=ANTHROPIC,
    ),
    Shape(
        name="two texts",
        pieces=lambda w: [
            w.start(),
            w.text("Hel"),
            frame({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            w.text("lo"),
            w.end(),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="DONE at the end",
        pieces=lambda w: [*w.say("Hello")[:-1], frame("[DONE]")],
        apis=ANTHROPIC,
    ),
    Shape(
        name="stop_reason beside the delta",
        pieces=lambda w: [
            w.start(),
            w.text("Hello"),
            frame({"type": "message_delta", "stop_reason": "max_tokens"}, "message_delta"),
            w.mark,
        ],
        end="length",
        apis=ANTHROPIC,
    ),
    Shape(
        name="the reason null",
        pieces=lambda w: [
            w.start(),
            w.text("Hello"),
            frame({"type": "message_delta", "delta": {"stop_reason": None}}, "message_delta"),
            w.mark,
        ],
        apis=ANTHROPIC,
    ),
    Shape(
        name="refusal after text",
        pieces=lambda w: w.say("Hel", "lo", reason="refusal"),
        end="Refused",
        says="filter",
        apis=ANTHROPIC,
    ),
    Shape(
        name="a rate limit inside the stream",
        pieces=lambda w: [
            w.start(),
            frame(
                {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
                "error",
            ),
        ],
        text="",
        end="RateLimited",
        says="slow down",
        apis=ANTHROPIC,
    ),
    Shape(
        name="overloaded before any text",
        pieces=lambda w: [
            frame(
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
                "error",
            )
        ],
        text="",
        end="ServerFault",
        says="Overloaded",
        apis=ANTHROPIC,
    ),
    Shape(
        name="a message with unknown parts",
        pieces=lambda w: instead(
            {
                "type": "message",
                "content": [{"type": "server_tool_use"}, {"type": "text", "text": "Hello"}],
                "stop_reason": "end_turn",
                "usage": None,
            }
        ),
        ending="raw",
        apis=ANTHROPIC,
    ),
]
