"""How frames are cut, and what bytes they hold."""

from __future__ import annotations

from stream_shapes import HEAD, Shape, between, byte_by_byte, joined, packed, pretty

FRAMING = [
    Shape(name="as it should be", pieces=lambda w: w.say("Hel", "lo")),
    Shape(name="a bare data line", pieces=between(b"data:\n\n")),
    Shape(name="a data line with a space", pieces=between(b"data: \n\n")),
    Shape(name="a field without a colon", pieces=between(b"data\n\n")),
    Shape(name="a retry line", pieces=between(b"retry: 3000\n\n")),
    Shape(name="an id line", pieces=between(b"id: 7\n\n")),
    Shape(name="a ping without data", pieces=between(b"event: ping\n\n")),
    Shape(name="a ping with data", pieces=between(b'event: ping\ndata: {"type": "ping"}\n\n')),
    Shape(name="a comment", pieces=between(b": OPENROUTER PROCESSING\n\n")),
    Shape(name="a comment that looks like data", pieces=between(b": data: {not json\n\n")),
    Shape(name="an unknown field", pieces=between(b"meta: x\n\n")),
    Shape(name="many empty lines", pieces=between(b"\n\n\n\n")),
    Shape(name="an empty object", pieces=between(b"data: {}\n\n")),
    Shape(name="an empty list", pieces=between(b"data: []\n\n")),
    Shape(name="null", pieces=between(b"data: null\n\n")),
    Shape(name="a number", pieces=between(b"data: 7\n\n")),
    Shape(name="a JSON text", pieces=between(b'data: "keep-alive"\n\n')),
    Shape(name="a word that is no JSON", pieces=between(b"data: ping\n\n")),
    Shape(name="CRLF", pieces=lambda w: [joined(w.say("Hel", "lo")).replace(b"\n", b"\r\n")]),
    Shape(name="CR", pieces=lambda w: [joined(w.say("Hel", "lo")).replace(b"\n", b"\r")]),
    Shape(
        name="CRLF, byte by byte",
        pieces=lambda w: byte_by_byte(joined(w.say("Hel", "lo")).replace(b"\n", b"\r\n")),
    ),
    Shape(name="a byte order mark", pieces=lambda w: [b"\xef\xbb\xbf", *w.say("Hel", "lo")]),
    Shape(
        name="byte by byte",
        pieces=lambda w: byte_by_byte(joined(w.say("Hé", "llo 👍"))),
        text="Héllo 👍",
    ),
    Shape(name="all at once", pieces=lambda w: [joined(w.say(*"Hello"))]),
    Shape(name="JSON over several data lines", pieces=pretty),
    Shape(
        name="a line a frame, without empty lines",
        pieces=lambda w: [joined([p.replace(b"\n\n", b"\n") for p in w.say("Hel", "lo")])],
        apis=("openai",),
    ),
    Shape(
        name="frames without data: before them",
        pieces=lambda w: [p.replace(b"data: {", b"{") for p in w.say("Hel", "lo")],
        apis=("openai",),
    ),
    Shape(
        name="no space behind the colon",
        pieces=lambda w: [
            p.replace(b": {", b":{").replace(b": [", b":[") for p in w.say("Hel", "lo")
        ],
    ),
    Shape(
        name="no event lines", pieces=lambda w: [p[p.index(b"data:") :] for p in w.say("Hel", "lo")]
    ),
    Shape(
        name="garbage behind the end",
        pieces=lambda w: [*w.say("Hel", "lo"), b"data: {oops\n\n<html>"],
    ),
    Shape(
        name="the last frame ends with the stream",
        pieces=lambda w: [joined(w.say("Hel", "lo")).rstrip(b"\n")],
    ),
    Shape(name="a stream packed with gzip", pieces=packed, ending="raw"),
    Shape(
        name="a stream whose end is the connection's",
        pieces=lambda w: [HEAD + b"connection: close\r\n\r\n", *w.say("Hel", "lo")],
        ending="raw",
    ),
    Shape(name="leading white space", pieces=lambda w: [b"\n\n  \n", *w.say("Hel", "lo")]),
]


BYTES = [
    Shape(
        name="a byte that is no UTF-8",
        pieces=lambda w: [w.start(), w.text("Hel#lo").replace(b"#", b"\xff"), w.end(), w.mark],
        text="Hel\ufffdlo",
    ),
    Shape(
        name="a character in two halves",
        pieces=lambda w: [
            w.start(),
            w.text("#").replace(b"#", b"\\ud83d"),
            w.text("#").replace(b"#", b"\\udc4d"),
            w.end(),
            w.mark,
        ],
        text="👍",
    ),
    Shape(
        name="half a character",
        pieces=lambda w: [w.start(), w.text("Hello#").replace(b"#", b"\\ud83d"), w.end(), w.mark],
        text="Hello\ufffd",
    ),
    Shape(
        name="NaN",
        pieces=lambda w: [
            w.start(),
            w.text("Hello").replace(b'"index": 0', b'"index": 0, "logprob": NaN'),
            w.end(),
            w.mark,
        ],
    ),
    Shape(
        name="a raw control character",
        pieces=lambda w: [w.start(), w.text("Hel#lo").replace(b"#", b"\x07"), w.end(), w.mark],
        text="Hel\x07lo",
    ),
    Shape(
        name="a NUL",
        pieces=lambda w: [w.start(), w.text("Hel\0lo"), w.end(), w.mark],
        text="Hel\0lo",
    ),
    Shape(
        name="a text of one megabyte",
        pieces=lambda w: [w.start(), w.text("a" * 1_000_000), w.end(), w.mark],
        text="a" * 1_000_000,
    ),
    Shape(name="empty texts", pieces=lambda w: w.say("", "Hel", "", "lo", "")),
]
