"""Commands that label documents without learning from them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.system.cli.given import COMMAND, SUBJECTS, Run, lines, write
from vmfstream.frozen.model import FrozenModel


def rows(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Return documents of the three subjects, without times; one has no known word."""
    texts = [*SUBJECTS, "nothing that was there before"]
    return write(tmp_path / "new.jsonl", [{"id": f"n{i}", "text": text} for i, text in enumerate(texts)])


def test_documents_are_labelled_and_the_run_file_stays(run: Run, run_file: Path, new: Path) -> None:
    before = run_file.read_bytes()
    code, out, err = run("label", run_file, new, "--format", "jsonl")
    assert (code, err) == (0, "labelled: 4 documents, 0 rejected\n")
    found = rows(out)
    assert list(found[0]) == ["id", "topic", "name", "probability", "story", "novelty"]
    assert {row["topic"] for row in found[:3]} == {0, 1, 2}
    for row, subject in zip(found, SUBJECTS, strict=False):
        assert set(str(row["name"]).replace(",", "").split()) <= set(subject.split())
        assert 0.5 < float(str(row["probability"])) <= 1.0
        assert row["story"] is not None
    assert found[3] == {"id": "n3"} | dict.fromkeys(["topic", "name", "probability", "story", "novelty"])
    assert run_file.read_bytes() == before
    code, table, _ = run("label", run_file, new, "--format", "table", "--limit", 2)
    assert code == 0
    assert [line.split()[0] for line in table.splitlines()] == ["id", "n0", "n1"]
    code, text, _ = run("label", run_file, new)
    assert [row["topic"] for row in csv.DictReader(io.StringIO(text))] == [
        "" if row["topic"] is None else str(row["topic"]) for row in found
    ]


def test_an_earlier_slice_has_no_stories(run: Run, run_file: Path, new: Path) -> None:
    now = rows(run("label", run_file, new, "--format", "jsonl")[1])
    code, out, err = run("label", run_file, new, "--at", "2002", "--format", "jsonl")
    assert code == 0
    assert "no stories: they are known for now only" in err
    assert [row["topic"] for row in rows(out)] == [row["topic"] for row in now]
    assert [row["story"] for row in rows(out)] == [None] * 4
    code, _, err = run("label", run_file, new, "--at", "1999")
    assert code == 1
    assert "there is no closed slice '1999' with topics; there are: from '2001' to '2004'" in err


def test_what_run_rejects_is_rejected_and_told(run: Run, run_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    bad = ['{"id": "\\u001b[31m', '{"id": "x", "text": ""}', '{"id": "y", "time": "soon", "text": "ship"}', "[1]"]
    good = [json.dumps(row) for row in lines(20)]
    path.write_text("\n".join([*good, *bad, *good[:1]]) + "\n", encoding="utf-8")
    code, out, err = run("label", run_file, path)
    assert code == 3
    assert len(out.splitlines()) == 22  # a repeated document is labelled again
    assert re.findall(r"^rejected: bad\.jsonl, row (\d+): ", err, re.MULTILINE) == ["21", "22", "23", "24"]
    assert "row 21: not JSON: line 21, column" in err
    assert "labelled: 21 documents, 4 rejected" in err
    assert "16.0% of the messages were rejected, more than --max-rejected 0.1" in err
    assert "\x1b" not in err.replace("\x1b[31mvmf", "").replace("\x1b[0m", "")
    told = run("run", path, *COMMAND, "--out", tmp_path / "other.duckdb")[1]
    reasons = re.findall(r"^rejected: 1 x (.*)", told, re.MULTILINE)
    assert reasons
    assert not [one for one in reasons if one not in err and "read before" not in one and "no time" not in one]
    assert run("label", run_file, path, "--max-rejected", 0.5)[0] == 0


def test_a_text_that_a_model_fails_on_is_rejected(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_vectors.py").write_text(
        "import numpy as np\n\n\ndef embed(texts):\n"
        "    if any('fail' in text for text in texts):\n        raise RuntimeError('no vector')\n"
        "    found = np.array([[len(text), text.count('s'), text.count('e') + 1.0] for text in texts])\n"
        "    found[np.array(texts) == 'infinite'] = np.inf\n    return found\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    embed = "own_vectors:embed"
    path = write(tmp_path / "good.jsonl", lines(80))
    assert run("replay", path, *COMMAND, "--embed", embed, "--out", tmp_path / "run.duckdb")[0] == 0
    new = write(tmp_path / "new.jsonl", [{"text": text} for text in ("a ship", "fail", "infinite", "cats", "sea")])
    code, out, err = run("label", tmp_path / "run.duckdb", new, "--embed", embed, "--max-rejected", 0.5)
    assert (code, len(out.splitlines())) == (0, 4)
    assert "row 2: own_vectors:embed failed with RuntimeError: no vector" in err
    assert "row 3: own_vectors:embed made numbers of the text that are not finite" in err
    assert "labelled: 3 documents, 2 rejected" in err
    code, out, err = run("label", tmp_path / "run.duckdb", new, "--embed", embed, "--limit", 1)
    assert (code, len(out.splitlines()), err) == (0, 2, "labelled: 1 document, 0 rejected\n")


def test_many_rejected_documents_are_counted_by_reason(run: Run, run_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    rejected: list[dict[str, object]] = [{"id": str(i), "text": "" if i % 2 else 7} for i in range(60)]
    write(path, [*lines(3), *rejected])
    code, _, err = run("label", run_file, path)
    assert code == 3
    assert err.count("rejected: bad.jsonl, row") == 20
    assert "rejected: 30 x text is empty" in err


def test_standard_input_is_labelled_as_it_comes(
    run: Run, run_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = write(tmp_path / "pipe.jsonl", [{"text": text} for text in SUBJECTS])
    descriptor = os.open(path, os.O_RDONLY)
    monkeypatch.setattr("vmfstream.connectors.stdin._stdin", lambda: descriptor)
    code, out, err = run("label", run_file, "-", "--format", "jsonl")
    os.close(descriptor)
    assert (code, err) == (0, "labelled: 3 documents, 0 rejected\n")
    assert [row["id"] for row in rows(out)] == ["stdin:0", "stdin:1", "stdin:2"]


def test_lines_of_standard_input_may_be_texts(
    run: Run, run_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "pipe.txt"
    path.write_text("\n".join(SUBJECTS) + "\n")
    descriptor = os.open(path, os.O_RDONLY)
    monkeypatch.setattr("vmfstream.connectors.stdin._stdin", lambda: descriptor)
    code, out, err = run("label", run_file, "-", "--format", "jsonl", "--message-format", "text")
    os.close(descriptor)
    assert (code, err) == (0, "labelled: 3 documents, 0 rejected\n")
    assert len({row["topic"] for row in rows(out)}) == 3
    descriptor = os.open(path, os.O_RDONLY)
    code, _, err = run("label", run_file, "-")
    os.close(descriptor)
    assert code == 3
    assert err.endswith("as one JSON object a line, or with --message-format text as one text\n")
    code, _, err = run("label", run_file, "-", "--message-format", "avro")
    assert code == 1
    assert "--message-format: expected json or text, got 'avro'" in err


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_while_the_model_is_loaded_ends_the_command(
    run: Run, run_file: Path, new: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals, code: int
) -> None:
    load = FrozenModel.load

    def slowly(*given: Any, **named: Any) -> FrozenModel:
        os.kill(os.getpid(), sent)
        return load(*given, **named)

    monkeypatch.setattr(FrozenModel, "load", slowly)
    before = signal.signal(sent, lambda *_: pytest.fail("the signal was not taken"))
    assert run("label", run_file, new) == (code, "", "")
    signal.signal(sent, before)


def test_what_is_rejected_behind_the_limit_does_not_count(run: Run, run_file: Path, tmp_path: Path) -> None:
    bad: list[dict[str, object]] = [{"id": str(i), "text": ""} for i in range(10)]
    path = write(tmp_path / "bad.jsonl", [*lines(2), *bad[:1], *lines(1), *bad])
    code, out, err = run("label", run_file, path, "--limit", 2)
    assert (code, len(out.splitlines()), err) == (0, 3, "labelled: 2 documents, 0 rejected\n")
    code, _, err = run("label", run_file, path, "--limit", 3, "--max-rejected", 0.5)
    assert code == 0
    assert "labelled: 3 documents, 1 rejected" in err


@pytest.mark.parametrize("name", ["model.zip", "model"])
def test_a_frozen_model_labels_as_its_run_file(run: Run, run_file: Path, new: Path, tmp_path: Path, name: str) -> None:
    code, out, _ = run("freeze", run_file, "--out", tmp_path / name)
    assert code == 0
    assert re.search(r"^model: \S+ \([1-9][\d,]* kB, 3 topics, slice 2004\)$", out, re.MULTILINE)
    expected = run("label", run_file, new)[1]
    run_file.unlink()
    assert run("label", tmp_path / name, new)[1] == expected
    for given, says in (
        (("label", tmp_path / name, new, "--at", "2002"), "holds one moment"),
        (("freeze", tmp_path / name, "--out", tmp_path / "again.zip"), "is no run file"),
    ):
        code, _, err = run(*given)
        assert code == 1
        assert says in err


def test_wrong_arguments_are_told(run: Run, run_file: Path, new: Path, tmp_path: Path) -> None:
    for given, says in (
        ((run_file, new, "--format", "xml"), "--format: expected table, csv or jsonl, got 'xml'"),
        ((tmp_path / "none.duckdb", new), "there is no run file"),
        ((new, new), "is not a DuckDB file"),
        ((run_file, tmp_path / "none.jsonl"), "none.jsonl"),
        ((run_file, new, "--vector", "v"), "labels texts"),
    ):
        code, _, err = run("label", *given)
        assert code == 1
        assert says in err


def test_documents_are_labelled_by_topics_that_the_run_does_not_have(
    run: Run, run_file: Path, new: Path, tmp_path: Path
) -> None:
    words = [subject.split()[:3] for subject in SUBJECTS[:2]]
    topics = tmp_path / "topics.toml"
    topics.write_text("".join(f'[[topic]]\nname = "Named {i}"\nwords = {of}\n' for i, of in enumerate(words)))
    code, out, err = run("label", run_file, new, "--topics-from", topics, "--format", "jsonl")
    assert (code, err) == (0, "labelled: 4 documents, 0 rejected\n")
    assert [(row["topic"], row["name"]) for row in rows(out)] == [
        (0, "Named 0"),
        (1, "Named 1"),
        (None, None),
        (None, None),
    ]
    code, _, err = run("label", run_file, new, "--topics-from", tmp_path / "none.toml")
    assert code == 1
    assert "cannot read the topics from" in err
