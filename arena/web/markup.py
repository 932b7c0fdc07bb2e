"""Texts of people and models as Markdown that shows what was written and runs nothing.

Models write Markdown. HTML between it is shown as the characters that it is: a tag that the
page's sanitiser would silently drop is text that a voter would not see on one side. Dollar
signs are mathematics only where they cannot be prices (pandoc's rule for `$…$`).
"""

from __future__ import annotations

import re

# Code first, so that nothing inside it is touched: a fence (closed, or still being
# written), then a code span.
_CODE = re.compile(
    r"(^ {0,3}(`{3,}|~{3,})[\s\S]*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z))|(`+)[^`]+?\3", re.MULTILINE
)
_TAG = re.compile(r"<(?!(?:br|sub|sup|/sub|/sup)\s*/?>)(?=[A-Za-z/!?])")
# A picture would be fetched from its own site, which the page never does: its link is shown.
_IMAGE = re.compile(r"(?<!\\)!(?=\[)")
_INLINE_MATH = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$\n]*?[^\s$\\])\$(?![\d$])")


def shown(text: str) -> str:
    """A prompt or an answer as the panels render it."""
    parts = []
    end = 0
    for code in _CODE.finditer(text):
        parts.append(_prose(text[end : code.start()]))
        parts.append(code.group())
        end = code.end()
    parts.append(_prose(text[end:]))
    return "".join(parts)


def _prose(text: str) -> str:
    harmless = _IMAGE.sub(r"\!", _TAG.sub("&lt;", text))
    return _INLINE_MATH.sub(r"\\(\1\\)", harmless)
