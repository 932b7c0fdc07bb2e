"""`arena battles`: battles that nobody has to start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import files
from arena.cli.arenas import ConfigOption, DataDirOption, read_settings

__all__ = ["app"]

EXAMPLES = """Examples:

arena battles generate --prompts questions.jsonl --models Small --models Large --store

arena battles generate -p questions.jsonl -m Small -m Large --out answers --temperature 0
"""
PromptsOption = Annotated[
    Path,
    typer.Option(
        "--prompts", "-p", help="A prompt a row: JSON Lines as MT-Bench has them, or any table."
    ),
]
EncodingOption = files.EncodingOption
SeparatorOption = files.SeparatorOption
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the answers; unless given, one in the data directory.",
        show_default=False,
    ),
]
app = typer.Typer(
    help="Make battles of a fixed set of prompts, for experts, judges or the crowd.",
    epilog="Example: arena battles generate --prompts questions.jsonl -m Small -m Large",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def battles(context: typer.Context) -> None:
    """Make battles of a fixed set of prompts, for experts, judges or the crowd."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("generate", epilog=EXAMPLES)
def generate(
    *,
    prompts: PromptsOption,
    models: Annotated[
        list[str], typer.Option("--models", "-m", help="Who answers; repeat for more.")
    ],
    out: OutOption = None,
    store: Annotated[
        bool, typer.Option("--store", help="Also record the battles, for experts and judges.")
    ] = False,
    pairs_per_prompt: Annotated[
        int | None, typer.Option(min=1, help="So many pairs a prompt, drawn by chance; or all.")
    ] = None,
    temperature: Annotated[
        float, typer.Option(min=0, max=2, help="Of every model's answers.")
    ] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 1024,
    own_sampling: Annotated[
        bool,
        typer.Option(
            "--own-sampling", help="Leave temperature and length to each model's own settings."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of answers, drawn pairs and sides.")] = 0,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Conversations with one model at the same time.")
    ] = 4,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Answer a prompt set with every model under the same conditions.

    What is answered is kept at once; after Ctrl-C, a kill or failures the same command asks
    only for what is missing. The answers can be played by the `recorded` back end.
    """
    from arena.cli.battles.runs import Wish, carry_out
    from arena.cli.refusals import refusing
    from ranking.tables.table import FileOptions

    with refusing():
        wish = Wish(
            prompts=prompts, file=FileOptions(encoding=encoding, separator=separator),
            models=tuple(dict.fromkeys(models)), out=out, store=store,
            pairs_per_prompt=pairs_per_prompt,
            temperature=None if own_sampling else temperature,
            max_tokens=None if own_sampling else max_tokens,
            seed=seed, concurrency=concurrency,
        )  # fmt: skip
        status = carry_out(wish, read_settings(config, data_dir))
    if status:
        raise typer.Exit(status)
