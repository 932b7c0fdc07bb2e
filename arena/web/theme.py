"""The one theme of all pages: colours, type and spacing; `style.css` has the layout.

Fonts are those of the visitor's system: no request leaves for a font server, and Chinese,
Arabic or Devanagari look as the visitor is used to.
"""

from __future__ import annotations

import gradio as gr
from gradio.themes.utils.colors import Color

INK = Color(
    name="ink",
    c50="#f7f7f5",
    c100="#efeeea",
    c200="#e0ded8",
    c300="#c8c5bc",
    c400="#98948a",
    c500="#6f6b62",
    c600="#55524b",
    c700="#3b3933",
    c800="#272621",
    c900="#1b1a17",
    c950="#131210",
)
TEAL = Color(
    name="teal",
    c50="#eefaf7",
    c100="#d3f2ea",
    c200="#a8e4d6",
    c300="#72cfbd",
    c400="#3fb3a0",
    c500="#1f9686",
    c600="#14786c",
    c700="#125f57",
    c800="#124c46",
    c900="#103f3a",
    c950="#062522",
)
_SANS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans CJK SC",
    "sans-serif",
)
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")


def build_theme() -> gr.themes.Base:
    """Warm paper in light mode, warm ink in dark mode, one teal accent."""
    theme = gr.themes.Base(
        primary_hue=TEAL,
        secondary_hue=TEAL,
        neutral_hue=INK,
        font=_SANS,
        font_mono=_MONO,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
    )
    return theme.set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_900",
        body_text_color_dark="*neutral_100",
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_400",
        background_fill_primary="white",
        background_fill_primary_dark="*neutral_900",
        background_fill_secondary="*neutral_100",
        background_fill_secondary_dark="*neutral_800",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        block_border_color="*neutral_200",
        block_border_color_dark="*neutral_700",
        block_border_width="1px",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_shadow="none",
        input_background_fill="white",
        input_background_fill_dark="*neutral_900",
        input_border_color="*neutral_300",
        input_border_color_dark="*neutral_600",
        input_border_color_focus="*primary_600",
        input_border_color_focus_dark="*primary_400",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_500",
        button_primary_text_color="white",
        button_secondary_background_fill="white",
        button_secondary_background_fill_hover="*neutral_100",
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
        button_border_width="1px",
        color_accent_soft="*primary_50",
        color_accent_soft_dark="*primary_950",
        border_color_primary="*neutral_200",
        border_color_primary_dark="*neutral_700",
    )
