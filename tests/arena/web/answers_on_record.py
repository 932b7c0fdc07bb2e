"""What the recorded models of the browser tests answer."""

from __future__ import annotations

MARKDOWN = r"""# A heading

Some **bold** words, a price of $5 or $6, and `code between`.

| a | b |
|---|---|
| 1 | 2 |

Inline $E = mc^2$, and by itself:

$$\int_0^1 x^2 dx = \frac{1}{3}$$

```python
def increment(number: int) -> int:
    return number + 1  # a line that runs past the right-hand edge of every panel there is
```
"""
HOSTILE = (
    "<script>window.__xss = 1</script> <b>bold</b> "
    '<img src="x" onerror="window.__xss = 2"> [click](javascript:window.__xss=3) '
)
ANSWERS: dict[str | tuple[str, ...], dict[str, object]] = {
    "*": {"answer": "A short answer, the same to everything.", "tokens": 10},
    ("The capital of France?", "And of Italy?"): {"answer": "Rome.", "tokens": 2},
    "Speak slowly": {
        "answer": " ".join(f"word{number}" for number in range(40)),
        "tokens": 40,
        "tokens_per_second": 8,
    },
    ("Use Markdown", "Speak slowly"): {
        "answer": " ".join(f"word{number}" for number in range(40)),
        "tokens": 40,
        "tokens_per_second": 8,
    },
    "Speak for a minute": {"answer": "word " * 480, "tokens": 480, "tokens_per_second": 8},
    "Write much": {"answer": "\n\n".join(["A paragraph. " * 20] * 20), "tokens": 400},
    "Use Markdown": {"answer": MARKDOWN, "tokens": 100},
    "Attack": {"answer": HOSTILE, "tokens": 40},
}
