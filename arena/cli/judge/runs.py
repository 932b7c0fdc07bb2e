"""What `arena judge run` does: choose, estimate, ask for consent, work, sum up."""

from __future__ import annotations

import hashlib
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from arena.cli.judge.output import explain_estimate, print_judge
from arena.cli.models import choose_models
from arena.cli.refusals import Refusal
from arena.cli.terminal import Bar, show_progress
from arena.judging.launching import JudgeWorker, WorkerFailed
from arena.judging.orders import RunOrder, describe_judge, estimate
from arena.rules.judgements import JudgeMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.judging.orders import Estimate
    from arena.leaderboards.recipe import Recipe
    from arena.rules.judgements import Judge
    from arena.settings import Settings
    from arena.store import Store
    from serving.specs import ModelSpec

__all__ = ["Choice", "carry_out"]

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was asked for on the command line; see `arena judge run --help`."""

    judge: str
    mode: str
    battles: int | None
    assignment: str | None
    pair: tuple[str, str] | None
    category: str | None
    max_cost: float | None
    concurrency: int
    temperature: str
    max_tokens: int | None
    structured: bool
    retry_failed: bool


def carry_out(
    choice: Choice,
    settings: Settings,
    store: Store,
    *,
    recipe: Recipe,
    yes: bool,
    as_json: bool,
) -> int:
    """Runs it all.

    Args:
        choice: what to ask, and whom.
        settings: of the arena.
        store: its record.
        recipe: of its leaderboards.
        yes: do not ask for consent.
        as_json: print JSON.

    Returns:
        The exit status: 1 where not all was asked, 130 after Ctrl-C.

    Raises:
        Refusal: something does not fit, or consent was not given.
    """
    spec = _find_model(settings, choice)
    battle_ids = tuple(_choose_battles(store, choice))
    order = RunOrder(
        database_url=settings.database.url, spec=spec, battle_ids=battle_ids,
        judge=_describe(spec, choice, _read_temperature(choice.temperature)),
        concurrency=choice.concurrency, max_cost=choice.max_cost,
        retry_failed=choice.retry_failed,
    )  # fmt: skip
    expected = estimate(store, order)
    _check(expected)
    _explain_order(store, order, expected)
    if expected.to_ask:
        _ask_consent(expected, yes=yes)
    known = store.judgings.register(order.judge)
    progress = _work(order, expected) if expected.to_ask else None
    if progress is not None and progress.stopped_by == "temperature":
        order = _leave_temperature(store, order, choice, progress)
        known = store.judgings.register(order.judge)
        expected = estimate(store, order)
        progress = _work(order, expected) if expected.to_ask else None
    print_judge(store, known, recipe, as_json=as_json)
    return 0 if progress is None else _explain_stop(progress)


def _describe(spec: ModelSpec, choice: Choice, temperature: float | None) -> Judge:
    return describe_judge(
        spec,
        JudgeMode(choice.mode),
        temperature=temperature,
        max_tokens=choice.max_tokens,
        structured=choice.structured,
    )


def _explain_order(store: Store, order: RunOrder, expected: Estimate) -> None:
    judge = order.judge
    before = store.judgings.find(judge)
    title = before.name if before is not None else f"{judge.model} ({judge.mode}), a new one"
    typer.echo(explain_estimate(title, expected, order.spec, order.concurrency), err=True)


def _leave_temperature(
    store: Store, order: RunOrder, choice: Choice, progress: _Progress
) -> RunOrder:
    """The order once more, with the model's own temperature; what was refused is taken back."""
    store.judgings.withdraw(order.judge)
    typer.echo(
        f"arena: this judge does not take temperature {choice.temperature}: "
        f"{progress.last_failure}\narena: going on with --temperature model.",
        err=True,
    )
    return order.model_copy(update={"judge": _describe(order.spec, choice, None)})


def _find_model(settings: Settings, choice: Choice) -> ModelSpec:
    (spec,) = choose_models(settings.models, [choice.judge])
    if choice.max_cost is not None and not spec.card.is_priced:
        raise Refusal(
            f'--max-cost needs the prices of "{spec.name}". Set price_input and price_output of '
            "this model, 0 where it costs nothing."
        )
    # The part that a contender plays is no part of a judge.
    return spec.model_copy(update={"system_prompt": ""})


def _read_temperature(text: str) -> float | None:
    if text == "model":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise Refusal(f'--temperature "{text}" is neither "model" nor a number from 0 to 2.')
    return value


def _choose_battles(store: Store, choice: Choice) -> list[str]:
    found = store.judged_battles.find(
        assignment=choice.assignment, pair=choice.pair, category=choice.category
    )
    if not found:
        raise Refusal(_explain_none(store, choice))
    if choice.battles is None or choice.battles >= len(found):
        return found
    # Drawn by a digest of the id: by chance, and the same ones when the command is repeated.
    drawn = sorted(found, key=lambda battle: hashlib.sha256(battle.encode()).digest())
    kept = set(drawn[: choice.battles])
    return [battle for battle in found if battle in kept]


def _explain_none(store: Store, choice: Choice) -> str:
    names = {assignment.name for assignment in store.assignments.all()}
    if choice.assignment is not None and choice.assignment not in names:
        there = f"There are: {', '.join(sorted(names))}." if names else "There is none yet."
        return f'there is no assignment named "{choice.assignment}". {there}'
    cards = store.battles.cards()
    for name in choice.pair or ():
        if name not in cards:
            return f'no battle is on record with a model named "{name}". Look at: arena models'
    return (
        "no battle fits: only those that were voted on and those of prompt sets are judged. "
        "Leave out a condition, or make some with: arena battles generate"
    )


def _check(expected: Estimate) -> None:
    if not expected.questions and expected.without_reference:
        raise Refusal(
            f"--mode reference needs reference answers, and none of the "
            f"{expected.without_reference:,} turns has one. They come with a prompt set: "
            "arena battles generate --prompts FILE --store"
        )
    if not expected.questions:
        raise Refusal("none of these battles has two complete answers to its first prompt.")


def _ask_consent(expected: Estimate, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refusal(f"{expected.to_ask:,} questions are to be asked. Add --yes to begin.")
    if not typer.confirm("Begin?", err=True):
        raise Refusal("nothing was asked.")


@dataclass(slots=True)
class _Progress:
    """What is known of a run while it goes on.

    Attributes:
        bar: shows how many questions have ended, and what is being done now.
        total: how many are to be asked.
        ended: how many questions.
        last_failure: what the latest failure said.
        stopped_by: why not all was asked, once that is known.
        interrupted: whether Ctrl-C was pressed.
    """

    bar: Bar
    total: int
    ended: int = 0
    last_failure: str = ""
    stopped_by: str | None = None
    interrupted: bool = False

    def follow(self, event: dict[str, Any]) -> None:
        """Takes in what the worker reports."""
        if event["event"] == "refused":
            raise Refusal(event["message"])
        if event["event"] == "done":
            self.stopped_by = event["stopped_by"]
        if event["event"] == "ended":
            self.ended += 1
            self.last_failure = event["message"] or self.last_failure
        doing = "Storing what is under way" if self.interrupted else "Asking"
        self.bar.fill(self.ended, self.total, doing)


def _work(order: RunOrder, expected: Estimate) -> _Progress:
    """Lets a worker carry out the order."""
    with show_progress("Starting the model", total=expected.to_ask) as bar:
        progress = _Progress(bar=bar, total=expected.to_ask)
        try:
            with JudgeWorker(order) as worker, _stopping_on_interrupt(worker, progress):
                for event in worker.events():
                    progress.follow(event)
        except WorkerFailed as error:
            raise Refusal(f"{error}\nWhat was answered is on record. Run it again.") from None
    return progress


@contextmanager
def _stopping_on_interrupt(worker: JudgeWorker, progress: _Progress) -> Iterator[None]:
    """Ctrl-C lets the worker finish what is under way; a second one leaves it alone with that."""

    def on_interrupt(*_: object) -> None:
        if progress.interrupted:
            raise KeyboardInterrupt
        progress.interrupted = True
        worker.stop()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _explain_stop(progress: _Progress) -> int:
    """Says why not all was asked; the exit status."""
    if progress.interrupted:
        typer.echo("arena: interrupted; the same command goes on from here.", err=True)
    elif progress.stopped_by == "max_cost":
        typer.echo(
            "arena: stopped, because the next question could exceed --max-cost. "
            "The same command with a new limit goes on from here.",
            err=True,
        )
    elif progress.stopped_by in {"failures", "temperature"}:
        typer.echo(
            f"arena: stopped after too many failures in a row. The last: {progress.last_failure}",
            err=True,
        )
        typer.echo("arena: put it right, and run the same command with --retry-failed.", err=True)
    if progress.interrupted:
        return _INTERRUPTED
    return 1 if progress.stopped_by else 0
