"""Where data is looked for."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vmfstream import folders
from vmfstream.connectors import open_source
from vmfstream.errors import InputError


@pytest.mark.parametrize("name", ["mails", "a.b", "news.jsonl", "news.jsonl.gz"])
def test_a_page_is_titled_by_the_name_without_endings(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_text("") if "news" in name else path.mkdir()
    assert folders.title_of(path) == ("news" if "news" in name else name)
    if path.is_dir():
        monkeypatch.chdir(path)
        assert folders.title_of(Path()) == name


def test_names_are_text_also_where_python_was_told_that_they_are_ascii() -> None:
    program = (
        "from vmfstream.folders import printable; print(ascii(printable('\\xfc')), ascii(printable('\\udcc3\\udcbc')))"
    )
    ascii_only = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ascii_only, check=False)
    assert (done.stdout, done.stderr) == ("'\\xfc' '\\xfc'\n", "")


def test_data_is_in_the_named_folder_then_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folders.data_folders() == (tmp_path / "named", tmp_path / "vmfstream")


def test_without_a_name_nothing_near_the_program_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VMFSTREAM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    near = tmp_path / "shared" / "data"
    near.mkdir(parents=True)
    (near / "rows.csv").touch()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert folders.data_folders() == (folders.cache_folder(),)
    assert folders.find_data("rows.csv") is None


def test_a_text_that_is_written_bit_by_bit_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    target, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with folders.writing_text(link) as file:
        file.write("\u00e4\n")
        assert not target.exists()
    assert link.is_symlink()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    stop = KeyboardInterrupt("stop")
    for what, says in ((full, r"cannot write .*rows\.csv: No space left on device"), (stop, "stop")):
        with pytest.raises((InputError, KeyboardInterrupt), match=says), folders.writing_text(target) as file:
            raise what
    assert target.read_bytes() == "\u00e4\n".encode()
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_what_a_link_names_is_written(tmp_path: Path) -> None:
    target, link, ring = tmp_path / "kept" / "report.md", tmp_path / "report.md", tmp_path / "ring.md"
    target.parent.mkdir()
    link.symlink_to(target)
    ring.symlink_to(ring)
    for content in "old", "new":
        folders.write_file(link, content)
        assert link.is_symlink()
        assert target.read_text() == content
    with folders.writing_text(ring) as file:
        file.write("a link to itself")
    assert ring.read_text() == "a link to itself"
    assert sorted(path.name for path in tmp_path.rglob("*.md*")) == ["report.md", "report.md", "ring.md"]


def test_a_pipe_gets_a_text_as_it_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with folders.writing_text(pipe) as file:
        file.write("a")
        file.flush()
        assert os.read(reader, 9) == b"a"
    os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("content", ["text \u00e4\n", b"bytes"])
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | bytes
) -> None:
    target = tmp_path / "page.html"
    folders.write_file(target, content)
    assert target.read_bytes() == (content if isinstance(content, bytes) else content.encode())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*page\.html: No space left on device"):
        folders.write_file(target, content)
    assert target.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert list(tmp_path.iterdir()) == [target]


def test_says_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        folders.write_file(tmp_path / "none" / "page.html", "text")
    with pytest.raises(InputError, match="Is a directory"):
        folders.write_file(tmp_path, "text")


def test_names_that_are_no_utf8_are_read_and_shown(tmp_path: Path) -> None:
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/of\xff"))
    named.mkdir()
    file = Path(os.fsdecode(os.fsencode(named) + b"/x\xff.csv"))
    file.write_text("text\nhello world\n")
    for source, shown in ((open_source(file), "x\ufffd.csv"), (open_source(named), "of\ufffd")):
        assert source.name == shown
        assert folders.source_name(str(file)) == "x\ufffd.csv"
        (message,) = source.poll(10, 0.0)
        assert message.part == "x\ufffd.csv"
        source.close()
