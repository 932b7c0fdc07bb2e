"""Server-sent events: the standard's rules, whatever the pieces, and the three kindnesses."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.sse import LONGEST_EVENT, Event, EventSplitter, EventTooLong


def split(*pieces: bytes) -> list[Event]:
    splitter = EventSplitter()
    events = [event for piece in pieces for event in splitter.feed(piece)]
    return events + splitter.finish()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [Event("", b"a")]),
        (b"data:a\n\n", [Event("", b"a")]),
        (b"data:  a\n\n", [Event("", b" a")]),  # one space belongs to the field
        (b"data: a\ndata: b\n\n", [Event("", b"a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [Event("x", b"a"), Event("", b"b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [Event("", b"a"), Event("", b"b")]),
        (b"data: a\r\rdata: b\r\r", [Event("", b"a"), Event("", b"b")]),
        (b"data: a\r\n\rdata: b\n\r\n", [Event("", b"a"), Event("", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("", b"a")]),
        (b"data: \xef\xbb\xbfa\n\n", [Event("", b"\xef\xbb\xbfa")]),  # inside it is text
        (b": a comment\n\ndata: a\n:\n\n", [Event("", b"a")]),
        (b"retry: 1\nid: 2\nother: 3\ndata: a\n\n", [Event("", b"a")]),
        (b"data\n\ndata:\n\ndata: \n\nevent: ping\n\n", []),
        (b"datas: a\n\n", []),
        (b"data: a: b\n\n", [Event("", b"a: b")]),
        (b"data: a", [Event("", b"a")]),
        (b'{"a": 1}\n\n', [Event("", b'{"a": 1}')]),
        (b"", []),
    ],
)
def test_events_are_split_as_the_standard_says(stream: bytes, events: list[Event]) -> None:
    assert split(stream) == events
    assert split(*(stream[at : at + 1] for at in range(len(stream)))) == events


pieces = st.sampled_from(
    [
        b"data: ",
        b"data",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"event: x",
        b"\xc3",
        b"\xa9",
        b"{",
        b"a",
    ]
)


@given(
    stream=st.lists(pieces, max_size=30).map(b"".join),
    cuts=st.lists(st.integers(0, 200), max_size=8),
)
def test_any_cutting_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    assert split(*(stream[start:end] for start, end in itertools.pairwise(edges))) == split(stream)


def test_an_event_without_end_is_not_held_for_ever() -> None:
    pieces = [b"a" * 1_000_000] * (LONGEST_EVENT // 1_000_000 + 2)
    with pytest.raises(EventTooLong, match="8,388,608 bytes"):
        split(*pieces)
