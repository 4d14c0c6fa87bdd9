"""Print the options of a command in groups, by their ``rich_help_panel``, as plain text."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

INPUT = "Input"
SLICES = "Slices and topics"
TEXT = "Text"
KAFKA = "Kafka"
OUTPUT = "Output"
PERFORMANCE = "Performance"
_ORDER = ("Arguments", INPUT, SLICES, TEXT, KAFKA, OUTPUT, PERFORMANCE, "Options")

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
        groups: dict[str, list[Any]] = {name: [] for name in _ORDER}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                name = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
                groups[name].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
