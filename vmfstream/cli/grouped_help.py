"""Print the options of a command in groups, by their ``rich_help_panel``, as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand

INPUT = "Input"
SLICES = "Slices and topics"
STORIES = "Stories"
TEXT = "Text"
KAFKA = "Kafka"
OUTPUT = "Output"
PERFORMANCE = "Performance"
_ORDER = ("Arguments", INPUT, SLICES, STORIES, TEXT, KAFKA, OUTPUT, PERFORMANCE, "Options")

ALONE = {"--embed": "wordllama"}
"""Options that may stand without a value, and what they mean then."""


class GroupedHelp(TyperCommand):
    """A command whose ``--help`` lists options under the names of their groups; options of no group come last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option of `ALONE` that no value follows gets the one that it stands for."""
        for at, name in enumerate(args):
            if name == "--":
                break
            last = at + 1 == len(args) or (args[at + 1].startswith("-") and args[at + 1] != "-")
            if name in ALONE and last:
                args = [*args[:at], f"{name}={ALONE[name]}", *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section per group; hidden options are left out."""
        for name, records in grouped(self.get_params(ctx), ctx).items():
            with formatter.section(name):
                formatter.write_dl(records)


def grouped(parameters: Iterable[Any], ctx: Any, *, by_panel: bool = True) -> dict[str, list[tuple[str, str]]]:
    """Return names and help texts of parameters by their groups, in the order of ``--help``, without hidden ones.

    Without ``by_panel`` all options are one group, as in commands that have few.
    """
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _ORDER}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None) if by_panel else None
            groups["Arguments" if is_argument else panel or "Options"].append(record)
    return {name: records for name, records in groups.items() if records}
