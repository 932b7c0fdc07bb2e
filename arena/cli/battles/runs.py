"""What `arena battles generate` does: ask what is missing, then make battles of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from arena.cli.arenas import opening
from arena.cli.models import choose_models
from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from arena.cli.terminal import show_progress
from arena.prompt_sets.answers import AnswerFolder, ConditionsDiffer, describe_conditions
from arena.prompt_sets.battles import store_battles
from arena.prompt_sets.files import PromptSetError, read_prompt_set
from arena.prompt_sets.runs import answer_all, count_open
from serving.protocol import Sampling
from serving.roster import Roster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.prompt_sets.files import PromptSet
    from arena.prompt_sets.runs import Failure, RunProgress
    from arena.settings import Settings
    from ranking.tables.table import FileOptions
    from serving.specs import ModelSpec

__all__ = ["Wish", "carry_out"]

_INTERRUPTED = 130
_MODELS_IN_A_BATTLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line; see `arena battles generate --help`."""

    prompts: Path
    file: FileOptions
    models: tuple[str, ...]
    out: Path | None
    store: bool
    pairs_per_prompt: int | None
    temperature: float | None
    max_tokens: int | None
    seed: int
    concurrency: int

    @property
    def sampling(self) -> Sampling:
        """How every model draws its answers."""
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens, seed=self.seed)


def carry_out(wish: Wish, settings: Settings) -> int:
    """Runs it all.

    Returns:
        The exit status: 1 where answers are missing, 130 after Ctrl-C.

    Raises:
        Refusal: something does not fit.
    """
    specs = choose_models(settings.models, wish.models)
    if wish.store and len(specs) < _MODELS_IN_A_BATTLE:
        raise Refusal("--store needs two models or more to make battles. Repeat --models.")
    prompts, folder = _open(wish, specs, settings)
    folder.write_models(specs)
    try:
        failures = _answer(wish, specs, prompts, folder)
    except KeyboardInterrupt:
        typer.echo("arena: interrupted; the same command goes on from here.", err=True)
        return _INTERRUPTED
    if wish.store:
        _store(wish, specs, prompts, folder, settings)
    _explain_failures(failures, folder)
    return 1 if failures else 0


def _open(
    wish: Wish, specs: Sequence[ModelSpec], settings: Settings
) -> tuple[PromptSet, AnswerFolder]:
    try:
        prompts = read_prompt_set(wish.prompts, wish.file)
        for line in prompts.told:
            typer.echo(f"arena: {line}", err=True)
        conditions = describe_conditions(prompts, specs, sampling=wish.sampling)
        name = f"{wish.prompts.stem}-{prompts.sha256[:8]}"
        place = wish.out or settings.data_dir / "prompt-sets" / name
        return prompts, AnswerFolder(place, prompts=prompts, conditions=conditions)
    except (PromptSetError, ConditionsDiffer) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(
            f"{wish.out or settings.data_dir} cannot be written ({explain(error)}). "
            "Name another folder with --out."
        ) from None


def _answer(
    wish: Wish, specs: Sequence[ModelSpec], prompts: PromptSet, folder: AnswerFolder
) -> list[Failure]:
    left = count_open(prompts, folder, [spec.name for spec in specs])
    total, turns = sum(left.values()), sum(len(question.turns) for question in prompts.questions)
    typer.echo(
        f"{prompts.name}: {len(prompts.questions):,} prompts, {turns:,} turns, "
        f"{len(specs)} models; {total:,} answers to ask for, into {folder.folder}",
        err=True,
    )
    if not total:
        folder.write_failures([])
        return []
    # Models that have answered everything are not started.
    asked = [spec for spec in specs if left[spec.name]]
    with show_progress("Starting the models", total=total) as bar:

        def report(progress: RunProgress) -> None:
            bar.fill(progress.answered + len(progress.failures), total, "Answering")

        progress = asyncio.run(_ask(asked, wish, prompts, folder, report))
    typer.echo(f"{progress.answered:,} answers came, {len(progress.failures):,} failed.", err=True)
    return progress.failures


async def _ask(
    specs: Sequence[ModelSpec],
    wish: Wish,
    prompts: PromptSet,
    folder: AnswerFolder,
    report: Callable[[RunProgress], None],
) -> RunProgress:
    async with Roster(specs) as roster:
        return await answer_all(
            roster.models,
            prompts,
            folder,
            sampling=wish.sampling,
            concurrency=wish.concurrency,
            report=report,
        )


def _store(
    wish: Wish,
    specs: Sequence[ModelSpec],
    prompts: PromptSet,
    folder: AnswerFolder,
    settings: Settings,
) -> None:
    with opening(settings) as store:
        store.battles.register_models([asdict(spec.card) for spec in specs])
        stored = store_battles(
            store,
            prompts,
            folder,
            models=[spec.name for spec in specs],
            pairs_per_prompt=wish.pairs_per_prompt,
            seed=wish.seed,
        )
    missing = f", {stored.incomplete:,} left out for want of an answer" if stored.incomplete else ""
    typer.echo(
        f"{stored.added:,} battles recorded, {stored.present:,} were there already{missing}.",
        err=True,
    )


def _explain_failures(failures: Sequence[Failure], folder: AnswerFolder) -> None:
    for (model, kind), count in Counter((f.model, f.kind) for f in failures).items():
        example = next(f.message for f in failures if (f.model, f.kind) == (model, kind))
        typer.echo(f"arena: {model}: {count:,} × {kind}: {example}", err=True)
    if failures:
        typer.echo(
            f"arena: all of them are in {folder.folder / 'failures.jsonl'}; the same command asks "
            "for them again.",
            err=True,
        )
