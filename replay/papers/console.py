"""Print recomputed tables on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from vmfstream.replay.papers.shown import Images, Shown, Table, tables_of

_UNBOUNDED = 10_000

_NUMBERS = 4
"""Most parts of a value that is a number with its spread and a mark; more are words."""

_SHADES = " ░▒▓█"


def print_shown(shown: Shown, console: Console) -> None:
    """Print the tables of an exhibit, the numbers of its panels, and its notes."""
    console.print()
    console.print(Text(f"{shown.name}: {shown.title}", style="bold"))
    for images in shown.images:
        _print_images(images, console)
    for table in (*shown.tables, *(tables_of(panel) for panel in shown.panels)):
        if table.cells:
            console.print()
            console.print(Text(table.title))
            wide = _wide(table)
            needed = console.measure(wide, options=console.options.update(width=_UNBOUNDED)).maximum
            console.print(wide if needed <= console.width else _long(table))
            _print_notes(table.notes, console)
    _print_notes(shown.notes, console)


def _print_images(images: Images, console: Console) -> None:
    """Draw every pixel as two characters, which are about a square."""
    console.print()
    console.print(Text(images.title))
    drawn = [
        Text(f"{one.name}\n" + "\n".join("".join(_shade(value) for value in row) for row in one.pixels))
        for one in images.images
    ]
    console.print(Columns(drawn, padding=(1, 2)))


def _shade(value: float) -> str:
    return 2 * _SHADES[round(value * (len(_SHADES) - 1))]


def _print_notes(notes: tuple[str, ...], console: Console) -> None:
    for note in notes:
        console.print(Text(note, style="dim"))


def _wide(table: Table) -> RichTable:
    """A column for each column and source."""
    drawn = _empty(table.corner)
    for column, source in table.places():
        drawn.add_column(f"{column}\n{source}", justify="right", no_wrap=True)
    for row in table.rows():
        drawn.add_row(Text(row), *(Text(table.text(row, *place)) for place in table.places()))
    return drawn


def _has_words(table: Table) -> bool:
    return any(len(table.text(row, *place).split()) > _NUMBERS for row in table.rows() for place in table.places())


def _long(table: Table) -> RichTable:
    """Return a table with one line per entry, for narrow terminals: names wrap, or values if they are words."""
    wrapped = _has_words(table)
    drawn = _empty(table.corner, foldable=not wrapped)
    drawn.add_column("", no_wrap=wrapped)
    sources = sorted({source for _, source in table.places()}, reverse=True)
    for source in sources:
        drawn.add_column(source, justify="left" if wrapped else "right", no_wrap=not wrapped)
    for row in table.rows():
        label = row
        for column in table.columns():
            texts = [table.text(row, column, source) for source in sources]
            if any(texts):
                drawn.add_row(Text(label), Text(column), *(Text(text) for text in texts))
                label = ""
    return drawn


def _empty(corner: str, *, foldable: bool = False) -> RichTable:
    drawn = RichTable(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    drawn.add_column(corner, no_wrap=not foldable)
    return drawn
