"""The pages of the static site: plain HTML and SVG, no script, nothing from elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from arena.publishing.files import Manifest
    from ranking import Leaderboard

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:70rem;padding:0 1rem}"
    "nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin-bottom:1rem}"
    "nav a{padding:.25rem 0}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse}caption{text-align:left;padding-bottom:.5rem}"
    "th,td{padding:.3rem .8rem;border-bottom:1px solid #8886;text-align:right;white-space:nowrap}"
    "th:nth-child(2),td:nth-child(2),.words td,.words th{text-align:left}"
    "td.none{background:#8883}"
    "svg{max-width:100%;height:auto}"
    "code,pre{overflow-wrap:anywhere;white-space:pre-wrap}"
)
_PAGES = {
    "index": ("Leaderboard", "排行榜"), "categories": ("Categories", "类别"),
    "judges": ("Judges", "评判模型"), "coverage": ("Coverage", "覆盖"),
    "draws": ("Draws", "抽取份额"), "method": ("Method", "方法"), "data": ("Data", "数据"),
}  # fmt: skip


def write_page(title: str, body: str, *, up: str = "") -> str:
    """A page of the site.

    Args:
        title: of it.
        body: HTML.
        up: the way from its folder to the site's.
    """
    links = "".join(
        f'<a href="{page}.html">{english} <span lang="zh-Hans">{chinese}</span></a>'
        for page, (english, chinese) in _PAGES.items()
    )
    links += f'<a href="{up}snapshots.html">Snapshots <span lang="zh-Hans">快照</span></a>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src 'self'\">"
        f'<link rel="alternate" type="application/rss+xml" href="{up}feed.xml">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f'<body><nav aria-label="Pages">{links}</nav><main>{body}</main></body></html>\n'
    )


def write_board(title: str, board: Leaderboard, *, changes: Sequence[str] = ()) -> str:
    """A board as a table and a picture."""
    level = f"{board.method['level']:.0%}"
    lines = [
        [
            board.describe_rank(entry), entry.model, f"{entry.score:.1f}",
            f"{entry.lower:.1f} – {entry.upper:.1f}", f"{entry.rank_lower}–{entry.rank_upper}",
            f"{entry.votes:,}",
        ]
        for entry in board
    ]  # fmt: skip
    heads = ["Rank", "Model", "Score", f"{level} interval", "Ranks", "Votes"]
    caption = f"{board.diagnostics['votes']:,} votes. Ranks hold for all at once, {level}."
    told = "".join(f"<li>{escape(line)}</li>" for line in changes)
    since = f"<h2>Since the last snapshot</h2><ul>{told}</ul>" if told else ""
    return (
        f"<h1>{escape(title)}</h1>{write_table(heads, lines, caption=caption)}"
        f"<p>{draw_board_svg(board)}</p>{since}"
    )


def write_table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], *, caption: str, kind: str = ""
) -> str:
    """A table; blanks are shown as such."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    rows = "".join(
        "<tr>" + "".join(_write_cell(cell) for cell in line) + "</tr>\n" for line in lines
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="{kind}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _write_cell(cell: str) -> str:
    return f"<td>{escape(cell)}</td>" if cell else '<td class="none"><span>none</span></td>'


def draw_board_svg(board: Leaderboard) -> str:
    """Scores with their intervals, the best on top; as it is on the page and to be embedded."""
    entries = list(board)
    low, high = min(e.lower for e in entries), max(e.upper for e in entries)
    scale = 420 / max(high - low, 1e-9)
    rows = []
    for number, entry in enumerate(entries):
        y = 34 + 26 * number
        left, right = (250 + scale * (x - low) for x in (entry.lower, entry.upper))
        at = 250 + scale * (entry.score - low)
        rows.append(
            f'<text x="240" y="{y + 5}" text-anchor="end">{escape(entry.model[:32])}</text>'
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{at:.1f}" cy="{y}" r="4"/>'
            f'<text x="690" y="{y + 5}">{entry.score:.0f}</text>'
        )
    height = 34 + 26 * len(entries)
    level = f"{board.method['level']:.0%}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {height}" width="740" '
        f'height="{height}" role="img" aria-label="Scores with {level} intervals">'
        "<style>text{font:14px system-ui,sans-serif;fill:#777}"
        "line{stroke:#3b76c4;stroke-width:2}circle{fill:#3b76c4}</style>"
        f'<text x="250" y="14">Score, {level} intervals</text>{"".join(rows)}</svg>'
    )


def write_embedded(board: Leaderboard) -> str:
    """A page to be shown in a frame of another."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title>'
        f"<style>{_STYLE}</style></head><body><main>{write_board('Leaderboard', board)}</main>"
        "</body></html>\n"
    )


def write_coverage(battles: pa.Table) -> str:
    """Battles by model, category and language; blanks are shown."""
    keys = ["model_a", "model_b", "category", "language"]
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in battles.group_by(keys).aggregate([([], "count_all")]).to_pylist():
        place = row["category"] or "unknown", row["language"] or "unknown"
        counted[(row["model_a"], *place)] += row["count_all"]
        counted[(row["model_b"], *place)] += row["count_all"]
    models = sorted({model for model, _, _ in counted})
    places = sorted({place[1:] for place in counted})
    heads = ["", "Model", *(f"{category}, {language}" for category, language in places)]
    lines = [
        [str(number), model]
        + [f"{counted[(model, *place)]:,}" if counted[(model, *place)] else "" for place in places]
        for number, model in enumerate(models, 1)
    ]
    heads[0] = "No."
    return "<h1>Coverage</h1>" + write_table(
        heads, lines, caption="Battles by model, category and language."
    )


def write_draws(battles: pa.Table) -> str:
    """Which share of all draws each model got."""
    counted: Counter[str] = Counter()
    for side in ("model_a", "model_b"):
        for row in battles.group_by(side).aggregate([([], "count_all")]).to_pylist():
            counted[row[side]] += row["count_all"]
    whole = max(1, counted.total())
    lines = [
        [str(number), model, f"{count:,}", f"{count / whole:.1%}"]
        for number, (model, count) in enumerate(counted.most_common(), 1)
    ]
    return "<h1>Draws</h1>" + write_table(
        ["No.", "Model", "Battles", "Share"], lines, caption="How often each model was drawn."
    )


def write_method(manifest: Manifest) -> str:
    """The formulas and the settings."""
    settings = json.dumps(manifest.recipe, ensure_ascii=False, indent=1)
    return (
        "<h1>Method</h1>"
        "<p>Each model has a strength ξ. Left wins with probability "
        "1 / (1 + exp(ξ<sub>right</sub> − ξ<sub>left</sub>)) (Bradley and Terry 1952); a tie is "
        "half a win for each side. Strengths maximise the likelihood of all votes that count, "
        "with a Gaussian prior. Scores are 1000 + 400 ξ / ln 10. Intervals and the ranks that "
        "hold for all models at once are made as the settings say.</p>"
        "<h2>Settings</h2>"
        f"<pre>{escape(settings)}</pre>"
        f"<h2>Versions</h2><pre>{escape(json.dumps(dict(manifest.versions), indent=1))}</pre>"
    )


def write_data(manifest: Manifest, folder: str) -> str:
    """Every file to download, and what is not among them."""
    lines = "".join(
        f'<tr><td><a href="{folder}/{name}">{escape(name)}</a></td><td>{record.size:,}</td>'
        f"<td><code>{record.sha256}</code></td></tr>\n"
        for name, record in manifest.files.items()
    )
    left_out = "".join(
        f"<li>{escape(what)}: {escape(why)}</li>" for what, why in manifest.left_out.items()
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in manifest.notes)
    return (
        f'<h1>Data</h1><p><a href="{folder}/manifest.json">manifest.json</a></p>'
        '<div class="wide" tabindex="0" role="region" aria-label="Files"><table class="words">'
        '<thead><tr><th scope="col">File</th><th scope="col">Bytes</th>'
        f'<th scope="col">SHA-256</th></tr></thead><tbody>{lines}</tbody></table></div>'
        f"<h2>Not in it</h2><ul>{left_out}{notes}</ul>"
        "<p>To recompute every number: <code>arena verify</code> with the folder of the data.</p>"
    )


def write_snapshots(history: Sequence[dict[str, Any]]) -> str:
    """Every snapshot, the newest first, and what changed with it."""
    items = "".join(
        f'<li><a href="s/{one["name"]}/index.html">{one["name"]}</a>: '
        f"{one['counted']['votes']:,} votes. {escape('; '.join(one['changes']))}</li>\n"
        for one in reversed(history)
    )
    return f"<h1>Snapshots</h1><ul>{items}</ul>"
