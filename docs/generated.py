"""Make the pages of the site that are told by code, and let links work in the repository and on the site.

mkdocs calls the functions whose names begin with ``on_`` (``hooks`` in mkdocs.yml). Nothing that they make is kept in
the repository, so nothing can go stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import typer

import vmfstream
from vmfstream import cli
from vmfstream.cli.grouped_help import GroupedHelp, grouped
from vmfstream.runfile import schema

ROOT = Path(__file__).resolve().parents[1]

PUBLIC: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "streams": (
        "Streams of texts",
        "Texts in, topics over time out: `TopicTracker`. A `FrozenModel` labels documents and learns nothing.",
        ("TopicTracker", "FrozenModel"),
    ),
    "mixtures": (
        "Mixtures and k-means",
        "Scikit-learn estimators of rows of unit length, CSR or dense; [what each can do](../estimators.md).",
        (
            "VMFMixture",
            "SphericalCauchyMixture",
            "WatsonMixture",
            "VMFHiddenMarkovModel",
            "SphericalKMeans",
            "FrequencySensitiveKMeans",
            "DiametricalKMeans",
            "chunked",
        ),
    ),
    "online": (
        "One pass",
        "Estimators that see every row once: `partial_fit`, and river's `learn_one`.",
        ("OnlineVMFMixture", "StoryMixture"),
    ),
    "bayesian": (
        "Bayesian models",
        "Posteriors over mixtures, trees and time slices, and models of documents as sets of vectors.",
        (
            "BayesianVMFMixture",
            "DirichletProcessVMFMixture",
            "HierarchicalVMFMixture",
            "TemporalVMFMixture",
            "DirichletVMFAdmixture",
            "MultilevelClustering",
        ),
    ),
    "distributions": (
        "Distributions",
        "Density, sampling, fitting, entropy and divergence on the sphere.",
        ("VonMisesFisher", "Watson", "SphericalCauchy", "FisherBingham", "AngularCentralGaussian"),
    ),
    "metrics": ("Scores", "", ("metrics",)),
    "datasets": ("Data sets", "", ("datasets",)),
    "plot": ("Figures for notebooks", "", ("plot",)),
}
"""Pages of the Python reference: title, a sentence, and the public names of ``vmfstream`` that they show."""

COPIED = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files beside the README that are pages of the site."""

PICTURES = ROOT / "dashboards" / "pictures"

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def commands_page() -> str:
    """Return the reference of the command line, from the program itself."""
    program = typer.main.get_command(cli.app)
    context = program.make_context("vmfstream", [], resilient_parsing=True)
    lines = [
        "# Commands",
        "",
        "What `vmfstream COMMAND --help` prints. `vmfstream --version` prints the version.",
        "",
    ]
    for name, command in program.commands.items():
        lines += _command(f"vmfstream {name}", command, context, level=2)
        for action, below in getattr(command, "commands", {}).items():
            lines += _command(f"vmfstream {name} RUN_FILE {action}", below, context, level=3)
    return "\n".join(lines) + "\n"


def _command(title: str, command: Any, parent: Any, level: int) -> Iterator[str]:
    """Yield the section of one command."""
    yield f"{'#' * level} {title}"
    yield ""
    for part in (command.help or "").strip().split("\n\n"):
        if re.search(r"^vmfstream ", part, re.MULTILINE):
            yield from ("```console", *(f"$ {line}" for line in part.replace("\b", "").strip().split("\n")), "```", "")
        else:
            yield from (" ".join(part.replace("\b", "").split()), "")
    context = type(parent)(command, info_name=title, parent=parent)
    by_panel = isinstance(command, GroupedHelp)
    groups = grouped((one for one in command.params if one.name != "help"), context, by_panel=by_panel)
    if groups:
        yield from ("| | |", "|---|---|")
    for group, records in groups.items():
        yield f"| **{group}** | |"
        for names, text in records:
            yield f"| `{_cell(names)}` | {_cell(text, escape=True)} |"
    yield ""


def _cell(text: str, *, escape: bool = False) -> str:
    """Return a text that can stand in the cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"([\[\]<>*_])", r"\\\1", text) if escape else text


def tables_page() -> str:
    """Return all tables and columns of a run file, from an empty one that all migrations have made."""
    lines = [
        "# Tables and columns",
        "",
        f"The tables of a run file of format {len(schema.MIGRATIONS)}."
        " [The run file](../run-file.md) says what their rows are.",
        "",
    ]
    for table, columns in tables().items():
        lines += [f"## {table}", "", "| column | type | |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind.lower()} | {'' if null else 'never empty'} |" for name, kind, null in columns]
        lines.append("")
    return "\n".join(lines)


def tables() -> dict[str, list[tuple[str, str, bool]]]:
    """Return the columns of each table of a migrated run file: name, type, and whether it may be empty."""
    with duckdb.connect() as connection:
        schema.prepare(connection, Path("none"))
        rows = connection.execute(
            "select table_name, column_name, data_type, is_nullable = 'YES' from information_schema.columns"
            " order by table_name, ordinal_position"
        ).fetchall()
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for table, *column in rows:
        found.setdefault(table, []).append((column[0], column[1], column[2]))
    return found


def python_pages() -> dict[str, str]:
    """Return the pages of the Python reference; raise if a public name is on none of them.

    Raises
    ------
    LookupError
        If ``vmfstream.__all__`` has a name that ``PUBLIC`` does not have, or the other way round.
    """
    shown = {name for _, _, names in PUBLIC.values() for name in names}
    if differing := shown ^ (set(vmfstream.__all__) - {"__version__"}):
        raise LookupError(f"public names and those of docs/generated.py differ: {sorted(differing)}")
    pages = {}
    for page, (title, sentence, names) in PUBLIC.items():
        blocks = [f"::: {_home(name)}" for name in names]
        if len(names) == 1 and names[0] in ("metrics", "datasets", "plot"):  # the module's own heading would repeat it
            members = "".join(f"\n        - {one}" for one in _members(names[0]))
            blocks = [
                f"::: vmfstream.{names[0]}\n    options:\n      show_root_heading: false\n      members:{members}"
            ]
        pages[f"reference/{page}.md"] = "\n\n".join([f"# {title}", sentence, *blocks]) + "\n"
    return pages


def _members(name: str) -> list[str]:
    """Return the public names of a public module."""
    module = import_module(f"vmfstream.{name}")
    own = [one for one, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", [one for one in own if not one.startswith("_")]))


def _home(name: str) -> str:
    """Return the full name of a public class or function, where it is defined."""
    thing = getattr(vmfstream, name)
    return f"{thing.__module__}.{name}" if hasattr(thing, "__module__") else f"vmfstream.{name}"


def generated_pages() -> dict[str, str]:
    """Return all pages that are not files of ``docs/``: paths on the site with their texts."""
    pages = {"reference/commands.md": commands_page(), "reference/tables.md": tables_page(), **python_pages()}
    for source, page in COPIED.items():
        pages[page] = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
    return pages


def notebook_page(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook with its stored outputs as Markdown, and its pictures by their names."""
    from nbconvert import MarkdownExporter

    text, resources = MarkdownExporter().from_filename(str(notebook))
    title, _, rest = text.strip().partition("\n")
    note = f"[Download this notebook]({notebook.name}). Its outputs are those of the last time it was run and stored."
    pictures = {f"{notebook.stem}_{name}": data for name, data in resources["outputs"].items()}
    for name in resources["outputs"]:
        rest = rest.replace(f"]({name})", f"]({notebook.stem}_{name})")
    return f"{title}\n\n{note}\n{rest}\n", pictures


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, the notebooks and the pictures."""
    from mkdocs.structure.files import File

    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    for notebook in NOTEBOOKS:
        text, pictures = notebook_page(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
        for name, data in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=data))
    for picture in sorted(PICTURES.iterdir()):
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to files outside ``docs/``, which work in the repository, work on the site."""
    for source, page in COPIED.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}")
    markdown = re.sub(r"\]\((notebooks/[\w-]+)\.ipynb\)", r"](\1.md)", markdown)
    return markdown.replace("](../dashboards/pictures/", "](pictures/")


def on_page_content(html: str, **_: Any) -> str:
    """Write types of docstrings as they stand there; the parser takes ``array-like, shape (N, D)`` for a program."""
    return html.replace("array - like", "array-like").replace("shape(", "shape (")


def on_config(config: Any) -> Any:
    """Write formulas as MathML, which browsers show without a script."""
    from latex2mathml.converter import convert

    def formula(source: str, *_: Any, **__: Any) -> str:
        return f'<div class="formula">{convert(source, display="block")}</div>'

    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "math", "format": formula}]
    return config
