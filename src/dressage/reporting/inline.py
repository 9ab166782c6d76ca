"""Sentences with their escapes, for HTML, Markdown and plain text."""

from __future__ import annotations

import re
from html import escape

from dressage.reporting.document import TONES, Code, Strong, Words

# Marks that mean something to Markdown anywhere in a line; "<" and "&" would begin HTML.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~$&!@])")
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|www)(?=[:.])")


def pieces(words: Words) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def html_words(words: Words) -> str:
    made = []
    for piece in pieces(words):
        text = escape(piece)
        if isinstance(piece, Code):
            text = f"<code>{text}</code>"
        elif isinstance(piece, Strong):
            tone = f' class="chip {TONES[piece]}"' if piece in TONES else ""
            text = f"<b{tone}>{text}</b>"
        made.append(text)
    return "".join(made)


def markdown_words(words: Words) -> str:
    made = []
    for piece in pieces(words):
        if isinstance(piece, Code):
            made.append(markdown_code(piece))
        elif isinstance(piece, Strong):
            made.append(f"**{markdown_text(piece)}**")
        else:
            made.append(markdown_text(piece))
    return "".join(made)


def markdown_text(text: str) -> str:
    escaped = _MARKDOWN.sub(r"\\\1", " ".join(text.split("\n")))
    # A bare address becomes a link by itself on a forge: a zero-width break prevents it.
    return _LINK.sub(lambda match: match[0] + "\N{WORD JOINER}", escaped)


def markdown_code(text: str) -> str:
    """Within backquotes nothing is markup; a text that has some itself is escaped instead."""
    if not text:
        return ""
    if "`" in text or "\\" in text or "|" in text:
        return markdown_text(text)
    return f"`{text}`"


def plain_words(words: Words) -> str:
    return "".join(pieces(words))
