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


class GroupedHelp(TyperCommand):
    """A command whose ``--help`` lists options under the names of their groups; options of no group come last."""

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
