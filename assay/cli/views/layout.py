"""Lines of a terminal view. Nothing is padded to the right, so piped text has no trailing blanks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text


def flow_pieces(pieces: Sequence[Text], width: int, gap: str = " ") -> list[Text]:
    """Pieces side by side, on as many lines as it takes; no piece is broken, none lends another its style."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and lines[-1].cell_len + len(gap) + piece.cell_len <= width:
            lines[-1].append(gap).append_text(piece)
        else:
            lines.append(Text().append_text(piece))
    return lines


def wrap(text: Text, screen: Console, indent: int) -> Iterator[Text]:
    """A paragraph, indented."""
    for line in text.wrap(screen, max(screen.width - indent, 10)):
        line.rstrip()
        yield Text(" " * indent).append_text(line)


def spread_ends(left: Text, right: Text, width: int) -> Iterator[Text]:
    """Two texts at the two ends of a line; on a narrow screen the right one follows on its own line."""
    room = width - right.cell_len - 2
    if room < 24:
        left.truncate(width, overflow="ellipsis")
        yield left
        yield Text("    ").append_text(right)
        return
    left.truncate(room, overflow="ellipsis")
    yield left.append(" " * (width - left.cell_len - right.cell_len)).append_text(right)


def align_columns(rows: Sequence[Sequence[Text]], right: Sequence[int], indent: int, gap: int = 2) -> Iterator[Text]:
    """Rows under one another; the columns named in `right` end flush, the last one is as long as it likes."""
    widths = [max((cell.cell_len for cell in column), default=0) for column in zip(*rows, strict=True)]
    for row in rows:
        line = Text(" " * indent)
        for place, cell in enumerate(row):
            blank = " " * (widths[place] - cell.cell_len)
            line.append(blank if place in right else "").append_text(cell)
            line.append("" if place in right else blank).append(" " * gap)
        line.rstrip()
        yield line
