"""The notebooks run from the first cell to the last, print what they show, and give nothing away of a machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.contract import pages
from tests.data import corpus_file
from vmfstream.replay.corpora import get

NOTEBOOKS = {path.stem: path for path in sorted((pages.ROOT / "docs" / "notebooks").glob("*.ipynb"))}
MOST_BYTES = 300_000


def run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a notebook after it was run in a folder."""
    monkeypatch.setenv("PYTHONPATH", str(pages.ROOT))
    monkeypatch.setenv("PLOTLY_RENDERER", "json")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    book = nbformat.reads(NOTEBOOKS[name].read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book


def printed(book: Any) -> list[str]:
    """Return what each cell of code prints."""
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(out["text"]) for out in cell["outputs"] if "text" in out) for cell in cells]


def stored(name: str) -> Any:
    """Return a notebook as it stands in the repository."""
    return json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))


def outputs(name: str) -> Iterator[Any]:
    """Yield the stored outputs of a notebook."""
    for cell in stored(name)["cells"]:
        yield from cell.get("outputs", [])


def test_there_are_these_notebooks() -> None:
    assert set(NOTEBOOKS) == {"embeddings", "news-stream", "your-papers"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["your-papers", "news-stream"])
def test_notebooks_print_what_they_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAPERS", raising=False)
    shown, found = (printed(book) for book in (stored(name), run(name, tmp_path, monkeypatch)))
    pairs = zip(shown, found, strict=True)
    assert not [(one, other) for one, other in pairs if not pages.is_shown(pages.Said(name, one, other))]


@pytest.mark.thorough
def test_papers_of_a_folder_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(120):
        words = "cat fur paw claw" if number % 2 else "ship sea harbour tide"
        (folder / f"{2001 + number // 40}-paper{number}.txt").write_text(words, encoding="utf-8")
    monkeypatch.setenv("PAPERS", str(folder))
    said = "\n".join(printed(run("your-papers", tmp_path, monkeypatch)))
    assert "120 papers, with id, year, text" in said
    assert re.search(r"^200\d 200\d-paper\d+ [\d.]+$", said, re.MULTILINE)


@pytest.mark.thorough
def test_the_notebook_on_embeddings_runs_on_the_newswire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed(run("embeddings", tmp_path, monkeypatch))
    assert said[0] == "1441 texts about 16 events\n"


@pytest.mark.corpus
def test_the_notebook_on_embeddings_runs_on_posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_file(get("crisislex").file)
    monkeypatch.setenv("EVERY", "20")
    said = printed(run("embeddings", tmp_path, monkeypatch))
    assert said[0] == "1254 texts about 26 events\n"
    agreement = {name: float(nmi) for name, nmi in re.findall(r"^([a-z ]+?) +NMI (\S+)", "\n".join(said), re.MULTILINE)}
    assert set(agreement) == {"words", "vectors", "words and vectors"}
    assert min(agreement.values()) > 0.4


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_with_outputs_of_no_machine(name: str) -> None:
    text = NOTEBOOKS[name].read_text(encoding="utf-8")
    kinds = [out["output_type"] for out in outputs(name)]
    assert "stream" in kinds
    assert "display_data" in kinds
    assert "error" not in kinds
    assert not [out for out in outputs(name) if out.get("name") == "stderr"]
    assert not re.findall(r"(?:/(?:home|work|tmp|root|Users)/|C:\\\\)[^\"]*", text)
    assert len(text) < MOST_BYTES


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_links_of_notebooks_lead_somewhere(name: str) -> None:
    text = "\n".join("".join(cell["source"]) for cell in stored(name)["cells"] if cell["cell_type"] == "markdown")
    broken = []
    for target in pages.links(text):
        path, _, anchor = target.partition("#")
        file = NOTEBOOKS[name].parent / path
        if not file.exists() or (anchor and anchor not in pages.anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert not broken
