"""Errors in the provider's words, and what is no stream at all."""

from __future__ import annotations

import json

from stream_shapes import (
    HEAD,
    Shape,
    Wire,
    between,
    byte_by_byte,
    error_event,
    frame,
    instead,
    refusal,
)

LOGIN = "<!DOCTYPE html><html><head><title>Please log in</title></head><body>x</body></html>"
ERRORS = [
    Shape(
        name="an error event",
        pieces=error_event(
            {"type": "error", "error": {"type": "overloaded_error", "message": "too busy"}}
        ),
        text="Hel",
        end="Interrupted",
        says="too busy",
    ),
    Shape(
        name="an error without an event",
        pieces=between(frame({"error": {"message": "engine died", "code": 502}})),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="an error in plain words",
        pieces=error_event("engine died"),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="an error that is a text",
        pieces=between(frame({"error": "engine died"})),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="an error inside a text of JSON",
        pieces=between(frame({"error": {"message": '{"error": {"message": "engine died"}}'}})),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="an object that is an error",
        pieces=between(frame({"object": "error", "message": "engine died", "code": 500})),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="an error line without data:",
        pieces=between(b'{"error": {"message": "engine died"}}\n\n'),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(
        name="a go-between's provider",
        pieces=between(
            frame(
                {
                    "error": {
                        "message": "Provider returned error",
                        "code": 502,
                        "metadata": {"raw": "engine died"},
                    }
                }
            )
        ),
        text="Hel",
        end="Interrupted",
        says="engine died",
    ),
    Shape(name="a null error", pieces=between(frame({"error": None}))),
    Shape(
        name="status 200 with an error",
        pieces=refusal(200, {"error": {"message": "Invalid API key", "code": "invalid_api_key"}}),
        ending="raw",
        text="",
        end="BadCredentials",
        says="Invalid API key",
    ),
    Shape(
        name="status 200 with an error in Chinese",
        pieces=refusal(200, {"code": 1113, "msg": "您的账户已欠费,请充值后重试"}),
        ending="raw",
        text="",
        end="QuotaUsedUp",
        says="欠费",
    ),
    Shape(
        name="status 200 with a list of errors",
        pieces=refusal(200, [{"error": {"message": "boom", "status": "INTERNAL"}}]),
        ending="raw",
        text="",
        end="ServerFault",
        says="boom",
    ),
    Shape(
        name="status 200 with a login page",
        pieces=lambda w: instead(LOGIN, kind="text/html"),
        ending="raw",
        text="",
        end="ModelNotFound",
        says="Please log in",
    ),
    Shape(
        name="a login page called a stream",
        pieces=lambda w: [LOGIN.encode()],
        text="",
        end="ModelNotFound",
        says="Please log in",
    ),
    Shape(
        name="status 200 with plain words",
        pieces=lambda w: instead("upstream connect error", kind="text/plain"),
        ending="raw",
        text="",
        end="Unreadable",
        says="upstream connect error",
    ),
    Shape(
        name="status 200 with JSON of something else",
        pieces=refusal(200, {"hello": "world"}),
        ending="raw",
        text="",
        end="Unreadable",
        says="world",
    ),
    Shape(
        name="status 200 and nothing",
        pieces=lambda w: instead(""),
        ending="raw",
        text="",
        end="Unreadable",
        says="nothing",
    ),
    Shape(
        name="status 204",
        pieces=lambda w: [b"HTTP/1.1 204 No Content\r\n\r\n"],
        ending="raw",
        text="",
        end="Unreadable",
        says="nothing",
    ),
    Shape(name="only comments", pieces=lambda w: [b": ping\n\n"] * 3, text="", end="Unreadable"),
    Shape(
        name="the other API",
        pieces=lambda w: Wire("anthropic" if w.is_openai else "openai").say("Hello"),
        text="",
        end="Unreadable",
        says="check `backend`",
    ),
    Shape(
        name="an answer that is not streamed",
        pieces=lambda w: instead(w.whole("Hello")),
        ending="raw",
    ),
    Shape(
        name="an answer that is not streamed, in pieces",
        pieces=lambda w: byte_by_byte(json.dumps(w.whole("Hello"), indent=2).encode()),
    ),
    Shape(
        name="a redirect",
        pieces=lambda w: [
            b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n"
        ],
        ending="raw",
        text="",
        end="ModelNotFound",
        says="redirect",
    ),
    Shape(
        name="no HTTP",
        pieces=lambda w: [b"SSH-2.0-OpenSSH_9.6\r\n"],
        ending="raw",
        text="",
        end="Unreadable",
        says="no HTTP",
    ),
    Shape(
        name="no answer",
        pieces=lambda w: [b""],
        ending="raw",
        text="",
        end="ServerFault",
        says="closed the connection",
    ),
    Shape(
        name="less than was promised",
        pieces=lambda w: [HEAD + b"content-length: 9999\r\n\r\n", w.start(), w.text("Hel")],
        ending="raw",
        text="Hel",
        end="Interrupted",
    ),
    Shape(
        name="401",
        pieces=refusal(
            401, {"error": {"message": "Incorrect API key provided: sk-proj-********8Tv"}}
        ),
        ending="raw",
        text="",
        end="BadCredentials",
        says="Incorrect API key",
    ),
    Shape(
        name="402",
        pieces=refusal(402, {"error": {"message": "Insufficient Balance"}}),
        ending="raw",
        text="",
        end="QuotaUsedUp",
        says="Insufficient Balance",
    ),
    Shape(
        name="403",
        pieces=refusal(403, {"detail": "Forbidden"}),
        ending="raw",
        text="",
        end="BadCredentials",
        says="Forbidden",
    ),
    Shape(
        name="404",
        pieces=refusal(404, {"error": {"message": "The model `x` does not exist"}}),
        ending="raw",
        text="",
        end="ModelNotFound",
        says="does not exist",
    ),
    Shape(
        name="400 for a model",
        pieces=refusal(400, {"error": {"message": "Model Not Exist"}}),
        ending="raw",
        text="",
        end="ModelNotFound",
        says="Model Not Exist",
    ),
    Shape(
        name="400 for a key",
        pieces=refusal(
            400,
            [
                {
                    "error": {
                        "code": 400,
                        "message": "API key not valid. Please pass a valid API key.",
                        "status": "INVALID_ARGUMENT",
                    }
                }
            ],
        ),
        ending="raw",
        text="",
        end="BadCredentials",
        says="not valid",
    ),
    Shape(
        name="400 for credit",
        pieces=refusal(
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low to access the API.",
                },
            },
        ),
        ending="raw",
        text="",
        end="QuotaUsedUp",
        says="credit balance",
    ),
    Shape(
        name="400 by the filter",
        pieces=refusal(
            400,
            {
                "code": "DataInspectionFailed",
                "message": "Input data may contain inappropriate content.",
            },
        ),
        ending="raw",
        text="",
        end="Refused",
        says="inappropriate",
    ),
    Shape(
        name="413", pieces=refusal(413, "too large"), ending="raw", text="", end="ContextTooLong"
    ),
    Shape(
        name="429",
        pieces=refusal(429, {"error": {"message": "Rate limit reached for gpt"}}),
        ending="raw",
        text="",
        end="RateLimited",
        says="Rate limit reached",
    ),
    Shape(
        name="429 for arrears",
        pieces=refusal(429, {"error": {"code": "1113", "message": "您的账户已欠费"}}),
        ending="raw",
        text="",
        end="QuotaUsedUp",
        says="欠费",
    ),
    Shape(
        name="500 with a page",
        pieces=lambda w: instead("<html>Bad gateway</html>", status="502 X", kind="text/html"),
        ending="raw",
        text="",
        end="ServerFault",
        says="Bad gateway",
    ),
    Shape(
        name="529",
        pieces=refusal(
            529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        ),
        ending="raw",
        text="",
        end="ServerFault",
        says="Overloaded",
    ),
]
