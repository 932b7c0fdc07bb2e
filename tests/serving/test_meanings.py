"""What providers say when something is wrong, word for word, and what it means to us."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from serving import ContextTooLong, ParameterRefused, Refused
from serving.complaints import Complaint, find_complaint
from serving.explaining import explain_complaint
from serving.sdk import Endpoint

IT = Endpoint(name="it", model="m", base_url="http://localhost:1/v1")

WORDS = tomllib.loads(
    Path(__file__).with_name("words_of_providers.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", WORDS["too_long"], ids=lambda case: case["server"])
@pytest.mark.parametrize("status", [400, 422, 500, None])
def test_too_long_is_recognised_in_every_servers_words(
    case: dict[str, Any], status: int | None
) -> None:
    error = explain_complaint(Complaint(words=case["words"]), IT, status=status)
    assert isinstance(error, ContextTooLong)
    assert error.limit == case.get("limit")
    assert case["words"][:60] in str(error)
    assert error.limit is None or f"{error.limit:,} tokens" in str(error)


@pytest.mark.parametrize("case", WORDS["said"], ids=lambda case: case["body"][:60])
def test_the_kind_of_an_error_follows_its_words(case: dict[str, Any]) -> None:
    status, body = case.get("status"), case["body"]
    complaint = find_complaint(json.loads(body), is_error=True)
    assert complaint is not None
    error = explain_complaint(complaint, IT, status=status if status != 200 else None)
    assert type(error).__name__ == case["kind"], error


@pytest.mark.parametrize("case", WORDS["temperature"])
def test_a_temperature_that_is_refused_is_named(case: dict[str, Any]) -> None:
    complaint = find_complaint({"error": {"message": case["words"]}})
    assert complaint is not None
    error = explain_complaint(complaint, IT, status=400, asked=("seed", "temperature"))
    assert isinstance(error, ParameterRefused)
    assert error.parameter == "temperature"
    other = explain_complaint(complaint, IT, status=400, asked=("seed",))
    assert type(other) is Refused


NO_ERRORS = [
    {"choices": [], "usage": {"prompt_tokens": 1}},
    {"choices": None, "error": None},
    {"choices": [{"delta": {}}], "error": {}},
    {"error": {"message": "", "code": 0}},
    {"code": 200, "msg": "success"},
    {"status": "processing", "message": "please wait"},
    {"base_resp": {"status_code": 0, "status_msg": "success"}},
    {"id": "x", "type": "message_start", "message": "hello"},
    {},
    [],
    "words",
    7,
    None,
]


@pytest.mark.parametrize("body", NO_ERRORS)
def test_what_is_no_error_is_taken_for_none(body: object) -> None:
    assert find_complaint(body) is None
