"""The templates of all pages: what is put into one is escaped, and what is missing is an error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: object) -> Markup:
    """A template with its values, as HTML that goes into another one as it is.

    Args:
        template: its path below `templates/`.
        values: escaped, unless they came out of a template themselves.

    Raises:
        jinja2.UndefinedError: a value is missing.
    """
    made = _environment().get_template(template).make_module(values)
    return made.__html__()


def fill(text: str, **values: object) -> str:
    """A text with its values; the template that shows it escapes both."""
    return text.format(**values)


class _Environment(Environment):
    """Jinja's, in which `words.copy` is the text of that name and not what a dictionary does."""

    def getattr(self, obj: object, attribute: str) -> object:
        """A value by its name, else an attribute."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def _environment() -> Environment:
    environment = _Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {"fill": fill, "thousands": "{:,}".format}
    environment.filters.update(filters)
    return environment
