"""What goes wrong is said in a sentence, and what cannot be a document is counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, Run, count, lines, write
from vmfstream.cli.options import run_file_of

BAD_ROWS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"{nonsense", "line 7"),
    "missing time": (b'{"id": "x", "text": "harbour ship"}', "time"),
    "unparsable time": (b'{"id": "x", "time": "yesterday", "text": "harbour"}', "yesterday"),
    "text null": (b'{"id": "x", "time": "2001", "text": null}', "text"),
    "text a number": (b'{"id": "x", "time": "2001", "text": 5}', "text"),
    "invalid UTF-8": (b'{"id": "x", "time": "2001", "text": "\xff\xfe"}', "UTF-8"),
    "a list": (b"[1, 2]", "object"),
    "duplicate id": (b'{"id": "d0", "time": "2001", "text": "harbour ship"}', "read before"),
    "far future": (b'{"id": "x", "time": "9999", "text": "harbour ship"}', "ahead"),
    "50 MB": (b'{"id": "x", "time": "2001", "text": "' + b"harbour " * 6_250_000 + b'"}', ""),
}


def test_bad_lines_are_rejected_with_their_reasons_and_the_stream_goes_on(run: Run, tmp_path: Path) -> None:
    rows = [json.dumps(row).encode() for row in lines()]
    for line, _ in reversed(BAD_ROWS.values()):
        rows.insert(6, line)
    file, run_file = tmp_path / "bad.jsonl", tmp_path / "run.duckdb"
    file.write_bytes(b"\n".join(rows) + b"\n")
    code, out, _ = run("run", file, *COMMAND, "--out", run_file)
    assert code == 0
    assert f"120 documents, {len(BAD_ROWS)} rejected" in out
    with duckdb.connect(str(run_file), read_only=True) as connection:
        query = "select source_offset, reason, excerpt from rejected order by source_offset"
        found = connection.execute(query).fetchall()
    assert [offset for offset, _, _ in found] == list(range(6, 6 + len(BAD_ROWS)))
    for (_, said, excerpt), (_, reason) in zip(found, BAD_ROWS.values(), strict=True):
        assert reason in said
        assert len(excerpt) < 2000


def vectors(path: Path) -> Path:
    rows: list[dict[str, object]] = []
    for i in range(80):
        value = [0.05 * ((i * 7 + j * 3) % 5) for j in range(4)]
        value[i % 2] += 3.0
        rows.append({"id": str(i), "time": 2001 + i // 20, "v": value})
    rows[10]["v"] = [1.0, float("nan"), 0.0, 0.0]
    rows[11]["v"] = [float("inf"), 0.0, 0.0, 0.0]
    rows[12]["v"] = [1.0, 0.0, 0.0]
    rows[13]["v"] = [0.0, 0.0, 0.0, 0.0]
    return write(path, rows)


def test_vectors_with_holes_are_rejected(run: Run, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    command = ("run", vectors(tmp_path / "v.jsonl"), "--vector", "v", "--dimension", 4, "--slices", "year", "-k", 2)
    code, out, _ = run(*command, "--out", run_file)
    assert code == 0
    assert "76 documents, 4 rejected" in out
    with duckdb.connect(str(run_file), read_only=True) as connection:
        reasons = [r for (r,) in connection.execute("select reason from rejected order by source_offset").fetchall()]
    for reason, wanted in zip(reasons, ("finite", "finite", "dimension", "direction"), strict=True):
        assert wanted in reason


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "missing.jsonl"), "missing.jsonl"),
        (("replay", "missing.csv"), "missing.csv"),
        (("replay", "npis"), "nips"),
        (("run", "x.docx"), ".docx"),
        (("run", "good.jsonl", "--slices", "century"), "century"),
        (("run", "good.jsonl", "--vector", "v"), "--dimension"),
        (("show", "missing.duckdb"), "missing.duckdb"),
        (("export", "missing.duckdb", "p.html"), "missing.duckdb"),
        (("run", "-", "--encoding", "cp1252"), "--encoding: expected a file with it, standard input"),
        (("run", "kafka://127.0.0.1:1/t", "--delimiter", ";"), "--delimiter: expected a file with it, a Kafka topic"),
        (("run", "good.jsonl", "--delimiter", ";"), "only tables of text"),
        (
            ("replay", "planted", "--encoding", "cp1252", "--time", "t"),
            "--time and --encoding: expected a file",
        ),
        (("export", "good.jsonl", "p.html", "--format", "svg"), "expected html or pdf, or --still"),
        (("export", "good.jsonl", "--still", "river", "--format", "gif"), "expected svg, pdf, png"),
        (
            ("export", "good.jsonl", "p.pdf", "--format", "html"),
            "PAGE: p.pdf is named as a file of pdf",
        ),
        (
            ("export", "good.jsonl", "p.svg", "--still", "river", "--format", "png"),
            "p.svg is named as a file of svg",
        ),
        (("export", "good.jsonl", "--still", "river", "--width", "3mm"), "60 to 1200 mm"),
        (("show", "good.jsonl"), "good.jsonl"),
        (("corpora", "fetch"), "get"),
    ],
)
def test_one_clear_sentence(
    run: Run, good: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(good.parent)
    code, _, err = run(*args)
    assert code == 1
    assert said in err
    assert len(err.strip().splitlines()) <= 3


def test_unknown_option(run: Run) -> None:
    code, _, err = run("run", "x.jsonl", "--colour", "red")
    assert code == 2
    assert "--colour" in err


def test_a_folder_that_cannot_hold_the_run_file(run: Run, good: Path, tmp_path: Path) -> None:
    for out in (tmp_path / "nowhere" / "run.duckdb", good / "run.duckdb", tmp_path, Path("/proc/run.duckdb")):
        code, _, err = run("run", good, "--out", out)
        assert code == 1
        assert str(out.parent) in err


def test_a_run_file_of_a_newer_version(run: Run, good: Path, run_file: Path) -> None:
    with duckdb.connect(str(run_file)) as connection:
        connection.execute("update meta set value = '999' where key = 'format'")
    for command in (("run", good, *COMMAND, "--out", run_file), ("show", run_file)):
        code, _, err = run(*command)
        assert code == 1
        assert "999" in err


def test_a_locked_run_file_names_the_other_process(run: Run, run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmfstream.runfile.queries import Reader

    monkeypatch.setattr(Reader.__init__, "__defaults__", (0.3,))
    hold = f"import duckdb, sys; c = duckdb.connect({str(run_file)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        code, _, err = run("show", run_file)
        other.communicate(b"")
    assert code == 1
    assert str(run_file) in err
    assert str(other.pid) in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--snapshot-every", 2, "--sample", 0), "--snapshot-every needs a sample"),
        (("--snapshot-every", 2, "--kind", "round"), "--kind must be one of flat, tree, smoothed, got round"),
        (("--kind", "flat"), "--kind says what --snapshot-every takes"),
        (("--vector", "v", "--dimension", 3, "--embed", "m"), "give one of them"),
    ],
)
def test_snapshots_that_cannot_be(run: Run, good: Path, tmp_path: Path, args: tuple[object, ...], message: str) -> None:
    code, _, err = run("run", good, "--out", tmp_path / "run.duckdb", *args)
    assert code == 1
    assert message in err
    assert not (tmp_path / "run.duckdb").exists()


def test_embedding_needs_its_extra(run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    code, _, err = run("run", good, "--out", tmp_path / "run.duckdb", "--embed", "some-model")
    assert code == 1
    assert "pip install 'vmfstream[sentence-transformers]'" in err


# --- input that is not what it should be, and outputs that cannot be written


def test_another_source_cannot_continue_a_run_file(run: Run, good: Path, run_file: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", [{**row, "id": f"other {i}"} for i, row in enumerate(lines(40, 2010))])
    before = count(run_file, "epoch")
    code, _, err = run("run", other, *COMMAND, "--out", run_file)
    assert code == 1
    assert "this run file follows good.jsonl and cannot go on with other.jsonl; choose another --out" in err
    assert count(run_file, "epoch") == before
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    assert run("run", good.rename(moved / "good.jsonl"), *COMMAND, "--out", run_file)[0] == 0
    assert run("run", other, *COMMAND, "--out", run_file, "--renamed")[0] == 0
    assert count(run_file, "epoch") > before


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("papers/news.jsonl", "news"),
        ("news.csv.gz", "news"),
        ("nips", "nips"),
        ("-", "run"),
        ("kafka://host:9092/news.v1?group=3", "news.v1"),
        ("kafka://host:9092/news,sport", "news-sport"),
    ],
)
def test_run_files_are_named_after_the_input(source: str, name: str) -> None:
    assert run_file_of(None, source) == Path(f"{name}.duckdb")
    assert run_file_of(Path("mine"), source) == Path("mine")


def test_two_inputs_without_out_have_two_run_files(
    run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "later.jsonl", lines(start=2010))
    for name in ("good", "later"):
        code, out, _ = run("run", f"{name}.jsonl", *COMMAND)
        assert code == 0
        assert "120 documents" in out
        assert count(tmp_path / f"{name}.duckdb", "epoch") > 0


@pytest.mark.parametrize(("limit", "code"), [(("--max-late", 0.5), 0), ((), 3)])
def test_many_late_documents_are_told_and_fail(run: Run, tmp_path: Path, limit: tuple[object, ...], code: int) -> None:
    rows = [*lines(40, start=2010), *({**row, "id": f"late {i}"} for i, row in enumerate(lines(20)))]
    file, run_file = write(tmp_path / "mixed.jsonl", rows), tmp_path / "run.duckdb"
    ended, out, err = run("run", file, *COMMAND, "--out", run_file, *limit)
    assert ended == code
    assert "late: 20 documents (33.3%) came after their slice was closed" in out
    assert ("more than --max-late 0.1" in err) == (code == 3)
    assert "late: 20 documents (33.3%) came after their slice was closed" in run("show", run_file)[2]
    ended, out, _ = run("doctor", run_file)
    assert ended == 1
    assert "FAIL late: 20 documents, 33.3% of all" in out
    assert "newest closed slice 2013" in out


@pytest.mark.parametrize("command", ["run", "replay"])
def test_many_rejected_messages_are_told_and_fail(run: Run, tmp_path: Path, command: str) -> None:
    bad: list[dict[str, object]] = [
        {"id": f"b{i}", "time": f"{i}/05/2020", "text": "harbour ship"} for i in range(13, 31)
    ]
    file, run_file = write(tmp_path / "bad.jsonl", [*lines(), *bad, {"time": 2004}]), tmp_path / "run.duckdb"
    ended, out, err = run(command, file, *COMMAND, "--out", run_file)
    assert ended == 3
    for told in (out, run("show", run_file)[2]):
        assert "rejected: 19 messages (13.7%)" in told
        assert "rejected: 18 x time is no time: '" in told
    assert "/05/2020' is neither a date like 2021-03-31 nor a year" in out
    assert "13.7% of the messages were rejected, more than --max-rejected 0.1" in err
    assert run(command, file, *COMMAND, "--out", run_file, "--max-rejected", 0.2)[0] == 0


@pytest.mark.parametrize("command", ["run", "replay"])
@pytest.mark.parametrize("option", ["--html", "--out"])
def test_outputs_are_checked_before_the_first_document(
    run: Run, good: Path, tmp_path: Path, command: str, option: str
) -> None:
    outputs = {"--out": tmp_path / "run.duckdb", "--html": tmp_path / "page.html"}
    wrongs = [(tmp_path / "none" / "x", "does not exist; create it"), (tmp_path, "is a folder")]
    wrongs += [(tmp_path / "page.pdf", "ends in .html, got page.pdf")] if option == "--html" else []
    wrongs += [(tmp_path / ("x" * length), "File name too long") for length in (256, 250)]  # with the draft's ending
    for wrong, message in wrongs:
        given = [part for pair in (outputs | {option: wrong}).items() for part in pair]
        code, out, err = run(command, good, *COMMAND, *given)
        assert code == 1
        assert f"{option}: " in err
        assert message in err
        assert out == ""
        assert not (tmp_path / "run.duckdb").exists()


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (("export", "RUN", "RUN", "--format", "html"), "PAGE"),
        (("export", "RUN", "LINK", "--still", "river", "--format", "svg"), "PAGE"),
        (("documents", "RUN", "--format", "csv", "--out", "RUN"), "--out"),
        (("documents", "RUN", "--format", "parquet", "--out", "LINK"), "--out"),
        (("report", "LINK", "--out", "LINK"), "--out"),
    ],
)
def test_an_output_does_not_replace_the_run_file_it_is_made_of(
    run: Run, followed: Path, tmp_path: Path, given: tuple[str, ...], option: str
) -> None:
    run_file, link = tmp_path / "run.duckdb", tmp_path / "link.html"
    before = followed.read_bytes()
    run_file.write_bytes(before)
    os.link(run_file, link)
    code, _, err = run(*({"RUN": run_file, "LINK": link}.get(word, word) for word in given))
    assert code == 1
    assert f"{option}: " in err
    assert "is the run file that is read; choose another path" in err
    assert run_file.read_bytes() == link.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (("export", "RUN", "OTHER", "--format", "html"), "PAGE"),
        (("export", "RUN", "OTHER", "--still", "river", "--format", "svg"), "PAGE"),
        (("documents", "RUN", "--format", "parquet", "--out", "OTHER"), "--out"),
        (("report", "RUN", "--out", "OTHER"), "--out"),
        (("replay", "GOOD", *COMMAND, "--out", "NEW", "--html", "OTHER"), "--html"),
    ],
)
def test_an_output_does_not_replace_another_run_file(
    run: Run, good: Path, followed: Path, tmp_path: Path, given: tuple[str, ...], option: str
) -> None:
    paths = {"RUN": followed, "GOOD": good, "OTHER": tmp_path / "other.html", "NEW": tmp_path / "new.duckdb"}
    shutil.copy(followed, paths["OTHER"])
    code, _, err = run(*(paths.get(word, word) for word in given))
    assert code == 1
    assert f"{option}: {paths['OTHER']} is a run file, which would be lost; choose another path" in err
    assert paths["OTHER"].read_bytes() == followed.read_bytes()
    assert not paths["NEW"].exists()


@pytest.mark.parametrize("command", ["run", "replay"])
def test_run_file_and_page_are_two_files(run: Run, good: Path, tmp_path: Path, command: str) -> None:
    both = tmp_path / "run.html"
    code, _, err = run(command, good, *COMMAND, "--out", both, "--html", both)
    assert code == 1
    assert f"--html: {both} is what --out names; choose another path" in err
    assert not both.exists()


@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_run_file_needs_a_name_in_utf_8(run: Run, good: Path, tmp_path: Path, command: str) -> None:
    strange = os.fsdecode(b"a\xff.duckdb")
    code, out, err = run(command, good, *COMMAND, "--out", tmp_path / strange)
    assert (code, out) == (1, "")
    assert "a\N{REPLACEMENT CHARACTER}.duckdb cannot be opened: its name, or a folder's, is no UTF-8" in err
    assert [one.name for one in tmp_path.iterdir()] == [good.name]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/proc/demo", "cannot write into the folder /proc/demo: "),
        ("x" * 256, "File name too long"),
        ("good.jsonl/demo", "Not a directory"),
        ("good.jsonl", "good.jsonl is a file"),
        (os.fsdecode(b"a\xff"), "is no UTF-8"),
    ],
    ids=["no right", "long", "below a file", "file", "no UTF-8"],
)
def test_the_demo_needs_a_folder_to_write_into(run: Run, good: Path, name: str, says: str) -> None:
    code, out, err = run("demo", "--out", good.parent / name)
    assert (code, out) == (1, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_wrong_language_leaves_no_run_file(run: Run, good: Path, tmp_path: Path) -> None:
    code, _, err = run("run", good, *COMMAND, "--language", "klingon", "--out", tmp_path / "run.duckdb")
    assert code == 1
    assert "expected arabic, bulgarian" in err
    assert "got 'klingon'" in err
    assert not (tmp_path / "run.duckdb").exists()


def test_a_file_of_documents_is_no_run_file(run: Run, good: Path) -> None:
    code, _, err = run("show", good)
    assert code == 1
    assert "good.jsonl is not a DuckDB file, so it is no run file" in err


def spread(folder: Path) -> dict[str, tuple[Path, list[object]]]:
    """Files as people have them, and the options that they need."""
    rows = list(lines())
    texts = [str(row["text"]) for row in rows]
    days = [f"{i % 28 + 1}/{i // 28 % 12 + 1}/2020" for i in range(len(rows))]
    table = "\n".join(f"{day};{text} é" for day, text in zip(days, texts, strict=True))
    (folder / "months.csv").write_bytes(f"Date;Body\n{table}\n".encode("cp1252"))
    (folder / "untimed.csv").write_text("text\n" + "\n".join(texts) + "\n")
    nested: list[dict[str, object]] = [
        {"meta": {"day": f"2020-{i // 28 % 12 + 1:02}"}, "doc": {"words": text}} for i, text in enumerate(texts)
    ]
    write(folder / "nested.jsonl", nested)
    (folder / "all.json").write_text(json.dumps(rows))
    (folder / "texts").mkdir()
    for i, text in enumerate(texts):
        (folder / "texts" / f"{2000 + i // 30} {i}.txt").write_text(text)
    return {
        "semicolons, Windows, days first": (folder / "months.csv", ["--slices", "month"]),
        "no times": (folder / "untimed.csv", ["--slices", 30]),
        "objects": (folder / "nested.jsonl", ["--slices", "month", "--time", "meta.day", "--text", "doc.words"]),
        "an array": (folder / "all.json", ["--slices", "year"]),
        "a folder of texts": (folder / "texts", ["--slices", "year"]),
    }


@pytest.mark.parametrize("command", ["run", "replay"])
def test_files_as_people_have_them_are_read(run: Run, tmp_path: Path, command: str) -> None:
    for name, (file, options) in spread(tmp_path).items():
        given = (*COMMAND, *options, "--window", 30, "--out", tmp_path / f"{name}.duckdb")  # a cheap fit is enough
        code, out, err = run(command, file, *given)
        assert (code, f"{len(list(lines()))} documents, 0 rejected" in out) == (0, True), (name, out, err)


@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_column_of_times_may_be_empty_where_documents_are_counted(run: Run, tmp_path: Path, command: str) -> None:
    rows = [json.dumps({"date": None, "text": one["text"]}) for one in lines()]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    code, out, err = run(command, tmp_path / "a.jsonl", *COMMAND, "--slices", "50", "--out", tmp_path / "a.duckdb")
    assert (code, f"{len(rows)} documents, 0 rejected" in out) == (0, True), (out, err)
    code, out, err = run(command, tmp_path / "a.jsonl", *COMMAND, "--slices", "year", "--out", tmp_path / "b.duckdb")
    assert (code, out) == (1, "")
    assert "date is null; name the time by --time" in err


@pytest.mark.parametrize("command", ["run", "replay"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "expected documents, found none"),
        ("date,text\n1/2/2021,a ship\n3/4/2021,a goal\n", "say --time-format '%d/%m/%Y' or '%m/%d/%Y'"),
        ("words\none\n", "name it by --time, or let replay or run cut slices by a number of documents, "),
        ("time,words\n2020,one\n", "no text: expected text or body"),
        ("time,words\n2020,one\n", "found time, words; name it by --text"),
    ],
)
def test_a_file_without_documents_leaves_no_run_file(
    run: Run, tmp_path: Path, command: str, content: str, said: str
) -> None:
    (tmp_path / "a.csv").write_text(content)
    code, out, err = run(command, tmp_path / "a.csv", *COMMAND, "--slices", "year", "--out", tmp_path / "a.duckdb")
    assert (code, out) == (1, "")
    assert said in err
    assert not (tmp_path / "a.duckdb").exists()


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_do_not_matter(run: Run, tmp_path: Path, closed: str) -> None:
    given, run_file = write(tmp_path / "news.jsonl", lines()), tmp_path / "run.duckdb"
    command = [sys.executable, "-m", "vmfstream", "replay", given, *COMMAND, "--out", run_file]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *map(str, command)], check=False)
    assert done.returncode == 0
    assert count(run_file, "document") == len(lines())
    assert run("doctor", run_file, "--deep")[0] == 0
