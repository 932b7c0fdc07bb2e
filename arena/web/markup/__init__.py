"""Texts of models as the panels show them: Markdown made into HTML that runs nothing."""

from arena.web.markup.writing import MOST_MARKDOWN, Writing, render_answer

__all__ = ["MOST_MARKDOWN", "Writing", "render_answer"]
