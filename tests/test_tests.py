"""The tests themselves: each one has something that can fail."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parent
# Of pytest, Playwright, NumPy and pandas.
ASSERTIONS = {"raises", "warns", "fail", "expect"}


def called_names(function: ast.AST) -> set[str]:
    """What a function calls, by the last part of the name."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {call.attr for call in calls if isinstance(call, ast.Attribute)} | {
        call.id for call in calls if isinstance(call, ast.Name)
    }


def asserts(function: ast.AST, helpers: set[str]) -> bool:
    """Whether it asserts something, by itself or by one of the helpers."""
    names = called_names(function)
    return (
        any(isinstance(node, ast.Assert) for node in ast.walk(function))
        or bool(names & (ASSERTIONS | helpers))
        or any(name.startswith("assert_") for name in names)
    )


def test_every_test_asserts_something() -> None:
    functions = [
        (path, node)
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    tests = [(path, node) for path, node in functions if node.name.startswith("test_")]
    others = [node for _, node in functions if not node.name.startswith("test_")]
    helpers: set[str] = set()
    while found := {node.name for node in others if asserts(node, helpers)} - helpers:
        helpers |= found
    # These hold by raising nothing, beside tests of the same rule that raises.
    helpers |= {"check_vote"}
    idle = [f"{path.name}:{node.name}" for path, node in tests if not asserts(node, helpers)]
    assert idle == []
    assert len(tests) > 1000
