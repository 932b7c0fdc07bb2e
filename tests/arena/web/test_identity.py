"""Voter tokens: what the arena did not sign is nobody."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import URLSafeSerializer

from arena.web.identity import COOKIE, VoterTokens

TOKENS = VoterTokens("a secret of sixteen or more")
ISSUED = TOKENS.issue()


def read(token: str) -> str | None:
    return TOKENS.read({COOKIE: token})


def test_a_token_is_read_back_to_one_voter() -> None:
    voter_id = read(ISSUED)
    assert voter_id is not None
    assert len(voter_id) >= 20
    assert read(ISSUED) == voter_id


def test_every_token_is_another_voter() -> None:
    assert len({read(TOKENS.issue()) for _ in range(1000)} - {None}) == 1000


def test_a_token_survives_a_restart_with_the_same_secret() -> None:
    again = VoterTokens("a secret of sixteen or more")
    assert again.read({COOKIE: ISSUED}) == read(ISSUED)


def test_no_cookie_is_no_voter() -> None:
    assert TOKENS.read({}) is None
    assert read("") is None
    assert TOKENS.read({"another": ISSUED}) is None


@given(st.integers(0, len(ISSUED) - 1))
def test_a_truncated_token_is_refused(length: int) -> None:
    assert read(ISSUED[:length]) is None


@given(st.integers(0, len(ISSUED) - 1), st.characters(codec="latin-1"))
def test_a_changed_token_is_refused_or_the_same_voter(place: int, character: str) -> None:
    changed = ISSUED[:place] + character + ISSUED[place + 1 :]
    # The last character of a base64 text carries bits that mean nothing.
    assert read(changed) in (None, read(ISSUED))


@given(st.text())
def test_any_text_is_refused(token: str) -> None:
    assert read(token) is None


@pytest.mark.parametrize(
    ("secret", "salt"),
    [("another secret of sixteen", "arena.voter"), ("a secret of sixteen or more", "arena.admin")],
)
def test_a_token_of_another_secret_or_for_another_purpose_is_refused(
    secret: str, salt: str
) -> None:
    assert read(str(URLSafeSerializer(secret, salt=salt).dumps("voter-1"))) is None


def test_somebody_elses_id_under_an_own_signature_is_refused() -> None:
    payload = base64.urlsafe_b64encode(json.dumps("voter-1").encode()).decode().rstrip("=")
    assert read(f"{payload}.{ISSUED.split('.')[1]}") is None


@pytest.mark.parametrize("value", [7, ["voter-1"], {"id": "voter-1"}, None, True])
def test_a_signed_value_that_is_no_id_is_refused(value: object) -> None:
    serializer = URLSafeSerializer("a secret of sixteen or more", salt="arena.voter")
    assert read(str(serializer.dumps(value))) is None
