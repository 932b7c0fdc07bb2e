"""What only those who speak OpenAI's API send."""

from __future__ import annotations

from stream_shapes import ApiName, Shape, between, frame

OPENAI: tuple[ApiName, ...] = ("openai",)
OPENAI_SHAPES = [
    Shape(
        name="a choice without a delta",
        pieces=between(frame({"choices": [{"index": 0}]})),
        apis=OPENAI,
    ),
    Shape(
        name="delta null",
        pieces=between(frame({"choices": [{"index": 0, "delta": None}]})),
        apis=OPENAI,
    ),
    Shape(
        name="choices missing", pieces=between(frame({"id": "1", "model": "real-1"})), apis=OPENAI
    ),
    Shape(name="choices null", pieces=between(frame({"choices": None})), apis=OPENAI),
    Shape(name="choices empty", pieces=between(frame({"choices": []})), apis=OPENAI),
    Shape(
        name="Azure's first chunk",
        pieces=lambda w: [
            frame(
                {
                    "choices": [],
                    "prompt_filter_results": [
                        {"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}
                    ],
                }
            ),
            *w.say("Hello"),
        ],
        apis=OPENAI,
    ),
    Shape(
        name="content null",
        pieces=between(frame({"choices": [{"delta": {"content": None}}]})),
        apis=OPENAI,
    ),
    Shape(
        name="a role alone",
        pieces=between(frame({"choices": [{"delta": {"role": "assistant"}}]})),
        apis=OPENAI,
    ),
    Shape(
        name="content in parts",
        pieces=lambda w: [
            w.chunk({"content": [{"type": "text", "text": "Hel"}, "lo"]}),
            w.end(),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="Mistral's thinking",
        pieces=lambda w: [
            w.chunk(
                {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "because"}]}
                    ]
                }
            ),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=OPENAI,
    ),
    Shape(
        name="parts that are no text",
        pieces=lambda w: [
            w.chunk(
                {
                    "content": [
                        {"type": "reference", "reference_ids": [1]},
                        {"type": "text", "text": "Hello"},
                    ]
                }
            ),
            w.end(),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="content that is a number",
        pieces=lambda w: [w.chunk({"content": 42}), w.end(), w.mark],
        text="42",
        apis=OPENAI,
    ),
    Shape(
        name="reasoning_content",
        pieces=lambda w: [
            w.chunk({"reasoning_content": "because"}),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=OPENAI,
    ),
    Shape(
        name="reasoning",
        pieces=lambda w: [
            w.chunk({"reasoning": "because", "content": ""}),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=OPENAI,
    ),
    Shape(
        name="reasoning_details",
        pieces=lambda w: [
            w.chunk({"reasoning_details": [{"type": "reasoning.text", "text": "because"}]}),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=OPENAI,
    ),
    Shape(
        name="reasoning in two fields",
        pieces=lambda w: [
            w.chunk({"reasoning": "because", "reasoning_content": "because"}),
            w.text("Hello"),
            w.end(),
            w.mark,
        ],
        reasoning="because",
        apis=OPENAI,
    ),
    Shape(
        name="a refusal field",
        pieces=lambda w: [w.chunk({"refusal": "I cannot."}), w.end(), w.mark],
        text="I cannot.",
        apis=OPENAI,
    ),
    Shape(
        name="a tool is called and nothing said",
        pieces=lambda w: [
            w.chunk({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
            w.end(),
            w.mark,
        ],
        text="",
        apis=OPENAI,
    ),
    Shape(
        name="several choices",
        pieces=lambda w: [
            w.text("Hel"),
            frame(
                {
                    "choices": [
                        {"index": 1, "delta": {"content": "Other"}, "finish_reason": "length"}
                    ]
                }
            ),
            w.text("lo"),
            w.end(),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="choices that are no list",
        pieces=lambda w: [
            frame({"choices": {"index": 0, "delta": {"content": "Hello"}}}),
            w.end(),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="an error inside the choice",
        pieces=lambda w: [
            w.text("Hel"),
            w.chunk(
                {"content": ""},
                finish_reason="error",
                error={"code": 502, "message": "engine died"},
            ),
        ],
        text="Hel",
        end="Interrupted",
        says="engine died",
        apis=OPENAI,
    ),
    Shape(
        name="a message instead of deltas",
        pieces=lambda w: [
            frame({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="the whole message again",
        pieces=lambda w: [
            w.text("Hel"),
            w.text("lo"),
            frame({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="messages that grow",
        pieces=lambda w: [
            *(
                frame({"choices": [{"message": {"content": text}}]})
                for text in ("H", "Hel", "Hello")
            ),
            w.end(),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="text of the old API",
        pieces=lambda w: [frame({"choices": [{"text": "Hello", "finish_reason": "stop"}]}), w.mark],
        apis=OPENAI,
    ),
    Shape(
        name="the reason as an object",
        pieces=lambda w: [
            w.text("Hello"),
            w.chunk({}, finish_reason={"type": "length", "length": 9}),
            w.mark,
        ],
        end="length",
        apis=OPENAI,
    ),
    Shape(
        name="the reason null as a text",
        pieces=lambda w: [w.chunk({"content": "Hello"}, finish_reason="null"), w.end(), w.mark],
        apis=OPENAI,
    ),
    Shape(
        name="the reason empty",
        pieces=lambda w: [w.chunk({"content": "Hello"}, finish_reason=""), w.mark],
        apis=OPENAI,
    ),
    Shape(
        name="counts null",
        pieces=lambda w: [*w.say("Hello")[:-1], frame({"choices": [], "usage": None}), w.mark],
        apis=OPENAI,
    ),
    Shape(
        name="counts as texts",
        pieces=lambda w: [
            *w.say("Hello")[:-1],
            frame({"choices": [], "usage": {"prompt_tokens": "7", "completion_tokens": "2"}}),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="counts that are odd",
        pieces=lambda w: [
            *w.say("Hello")[:-1],
            frame({"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1}}),
            w.mark,
        ],
        apis=OPENAI,
    ),
    Shape(
        name="a good state beside the choices",
        pieces=between(
            frame({"choices": [{"delta": {}}], "base_resp": {"status_code": 0, "status_msg": ""}})
        ),
        apis=OPENAI,
    ),
    Shape(
        name="a bad state beside the choices",
        pieces=lambda w: [
            frame({"choices": None, "base_resp": {"status_code": 1004, "status_msg": "login fail"}})
        ],
        text="",
        end="BadCredentials",
        says="login fail",
        apis=OPENAI,
    ),
    Shape(
        name="DONE in other letters",
        pieces=lambda w: [w.text("Hello"), b"data:[done]\n\n"],
        apis=OPENAI,
    ),
]
