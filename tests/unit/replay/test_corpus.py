from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.data import corpus_file
from vmfstream.errors import InputError
from vmfstream.folders import data_folders
from vmfstream.records import Message
from vmfstream.replay.corpora import corpora, get
from vmfstream.replay.corpora.newsgroups import POSTS
from vmfstream.replay.corpus import ColumnExpressions, Corpus, Home
from vmfstream.replay.sorted_source import CorpusSource

PAGE = b"x" * 3_000_000


class Pages(BaseHTTPRequestHandler):
    pages: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        page = self.pages.get(self.path.removesuffix("?cut"))
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page[: len(page) // 2] if self.path.endswith("?cut") else page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache" / "vmfstream"


def toy(url: str, content: bytes = PAGE) -> Corpus:
    Pages.pages["/" + url.rpartition("/")[2].removesuffix("?cut")] = content
    return Corpus(
        name="toy",
        title="Toy",
        description="",
        licence="",
        file="toy/docs.parquet",
        columns=ColumnExpressions(id="id", time="timestamp", text="text"),
        documents=1,
        home=Home(url, hashlib.sha256(content).hexdigest()),
    )


def fields(message: Message) -> Mapping[str, Any]:
    assert not isinstance(message.value, bytes)
    return message.value


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_is_checked_and_kept(server: str, cache: Path) -> None:
    corpus = toy(f"{server}/toy")
    reported: list[tuple[int, int | None]] = []
    assert corpus.find() is None
    path = corpus.path(progress=lambda done, expected: reported.append((done, expected)))
    assert path == cache / "toy/docs.parquet"
    assert path.read_bytes() == PAGE
    assert files(cache) == ["docs.parquet"]
    assert reported[-1] == (len(PAGE), len(PAGE))
    assert len(reported) > 1
    Pages.pages.clear()
    assert corpus.path() == path  # not fetched again


def test_a_wrong_checksum_leaves_nothing(server: str, cache: Path) -> None:
    corpus = toy(f"{server}/toy")
    assert corpus.home is not None
    wrong = replace(corpus, home=replace(corpus.home, sha256="0" * 64))
    with pytest.raises(InputError, match=f"checksum: expected SHA-256 {'0' * 64}"):
        wrong.path()
    assert files(cache) == []


def test_an_interrupted_download_leaves_nothing(server: str, cache: Path) -> None:
    with pytest.raises(InputError, match=f"1500000 of {len(PAGE)} bytes|after 0 bytes: IncompleteRead"):
        toy(f"{server}/toy?cut").path()
    assert files(cache) == []


def test_a_cancelled_download_leaves_nothing(server: str, cache: Path) -> None:
    def cancel(done: int, expected: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        toy(f"{server}/toy").path(progress=cancel)
    assert files(cache) == []


def test_an_absent_page_is_reported(server: str, cache: Path) -> None:
    corpus = toy(f"{server}/toy")
    Pages.pages.clear()
    with pytest.raises(InputError, match=r"/toy failed after 0 bytes: HTTP Error 404"):
        corpus.path()
    assert files(cache) == []


def test_newsgroups_come_out_of_their_archive(server: str, cache: Path) -> None:
    posts = {
        "20news-bydate-test/sci.space/60900": "From: a@b\nSubject: Re: Moon\n\nLater.\n",
        "20news-bydate-train/sci.space/60200": "From: c@d\nSubject: Moon\n\nCaf\xe9 on the moon\x03.\n\nBye.\n",
        "20news-bydate-train/sci.space/60100": "Organization: none\n\nNo subject.\n",
        "20news-bydate-train/rec.autos/101550": "Subject: Cars\n\n",
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in posts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode("latin-1"))
            tar.addfile(member, io.BytesIO(content.encode("latin-1")))
    Pages.pages["/20news"] = archive.getvalue()
    assert POSTS.home is not None
    digest = hashlib.sha256(archive.getvalue()).hexdigest()
    corpus = replace(POSTS, home=replace(POSTS.home, url=f"{server}/20news", sha256=digest))
    cached = corpus.fetch()
    assert files(cache) == ["docs.parquet"]
    # the checkout's own data stands before the cache, so read the fetched file by name
    source = CorpusSource(replace(corpus, file=str(cached)))
    messages = source.poll(10, 0.0)
    source.close()
    assert len(messages) == 4
    ids = [fields(message)["id"] for message in messages]
    assert ids[-1] == "test/sci.space/60900"
    assert ids.index("train/sci.space/60100") < ids.index("train/sci.space/60200")
    value = fields(messages[ids.index("train/sci.space/60200")])
    assert value["title"] == "Moon"
    assert value["text"] == "Moon. Caf\xe9 on the moon.\n\nBye.\n"
    assert value["label"] == "sci.space"


def test_an_archive_without_posts_is_refused(server: str, cache: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("readme"))
    Pages.pages["/20news"] = archive.getvalue()
    assert POSTS.home is not None
    digest = hashlib.sha256(archive.getvalue()).hexdigest()
    corpus = replace(POSTS, home=replace(POSTS.home, url=f"{server}/20news", sha256=digest))
    with pytest.raises(InputError, match="found none"):
        corpus.fetch()
    assert files(cache) == []


def test_a_corpus_without_home_says_where_to_put_it(cache: Path) -> None:
    corpus = replace(get("nips"), file="absent/docs.parquet")
    with pytest.raises(InputError) as caught:
        corpus.path()
    for said in (
        "'nips'",
        "absent/docs.parquet",
        "Parquet",
        "timestamp",
        str(cache),
        "$VMFSTREAM_DATA",
        "no public home",
    ):
        assert said in str(caught.value)


def test_the_named_folder_stands_before_the_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = replace(get("nips"), file="toy/docs.parquet")
    for folder in (cache, tmp_path / "mine"):
        (folder / "toy").mkdir(parents=True)
        (folder / "toy" / "docs.parquet").write_bytes(b"")
    assert corpus.find() == cache / "toy/docs.parquet"
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path / "mine"))
    assert corpus.find() == tmp_path / "mine/toy/docs.parquet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folders()[-1] == Path.home() / ".cache/vmfstream"


@pytest.mark.parametrize(
    ("name", "near"), [("nip", "nips"), ("NYT", "nyt"), ("newsgroup", "newsgroups"), ("ml", "ml-")]
)
def test_an_unknown_corpus_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown corpus '{name}': did you mean .*{near}"):
        get(name)


def test_a_name_like_no_other_names_all() -> None:
    with pytest.raises(InputError, match="known are nips, nips-papers, nyt, un"):
        get("qqqq")


def test_names_are_unique_and_lead_back() -> None:
    names = [corpus.name for corpus in corpora()]
    assert len(set(names)) == len(names)
    for corpus in corpora():
        assert get(corpus.name) is corpus
        assert corpus.licence
        assert corpus.description
        assert all(word == word.lower() for word in corpus.stop_words)


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "first", "last"), [("nips", "1987", "2018"), ("nyt", "1996-01-01", "2006-12-31")])
def test_real_corpora_come_whole_and_in_order(name: str, first: str, last: str) -> None:
    corpus_file(get(name).file)
    source = CorpusSource(name)
    assert source.total == get(name).documents == {"nips": 8_064, "nyt": 31_034}[name]
    previous, ids = None, set()
    begin = end = None
    while not source.exhausted:
        for message in source.poll(1000, 0.0):
            assert message.time is not None
            assert previous is None or previous <= message.time
            previous = end = message.time
            begin = begin or message.time
            ids.add(fields(message)["id"])
    source.close()
    assert len(ids) == source.total
    assert begin is not None
    assert end is not None
    assert begin.isoformat().startswith(first)
    assert end.isoformat().startswith(last)


@pytest.mark.corpus
def test_titles_and_headlines_are_part_of_the_text() -> None:
    for name in ("nips", "reuters", "newsgroups", "ml-conferences"):
        corpus_file(get(name).file)
        source = CorpusSource(name)
        value = fields(source.poll(1, 0.0)[0])
        assert value["text"].startswith(value["title"] + ". ")
        source.close()


@pytest.mark.corpus
def test_reuters_without_a_body_has_its_headline() -> None:
    corpus_file(get("reuters").file)
    source = CorpusSource("reuters")
    texts = [fields(message).get("text", "") for message in source.poll(25_000, 0.0)]
    source.close()
    assert sum(not text.strip() for text in texts) < 20


@pytest.mark.corpus
def test_debates_fall_into_passages() -> None:
    whole, cut = get("un"), get("un-passages")
    corpus_file(whole.file)
    few = "(SELECT * FROM {file} LIMIT 40)"
    with (
        closing(CorpusSource(replace(whole, table=few))) as speeches,
        closing(CorpusSource(replace(cut, table=cut.table.replace("{file}", few)))) as passages,
    ):
        texts = {fields(message)["id"]: fields(message)["text"].split() for message in speeches.poll(40, 0.0)}
        found = {fields(message)["id"]: fields(message)["text"].split() for message in passages.poll(10_000, 0.0)}
    assert len(texts) == 40
    assert found == {
        f"{name}/{1 + first // 60}": words[first : first + 60]
        for name, words in texts.items()
        for first in range(0, len(words), 60)
    }
