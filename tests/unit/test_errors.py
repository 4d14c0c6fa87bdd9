"""Errors repeat no secret, wherever in a mistyped address it stands."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from vmfstream.connectors import open_source
from vmfstream.connectors.kafka.options import parse_address
from vmfstream.errors import InputError, VmfstreamError, without_secrets
from vmfstream.runfile.queries import Reader

MISTYPED = [
    "kafka:/me:hidden@h/t",
    "kafa://me:hidden@h/t",
    "kafka://h:hidden/t",
    "kafka://g:9092,h:hidden/t",
    "kafka://h/t?password=hidden",
    "kafka://h/t#hidden",
    "kafka:me:hidden@h/t",
    "kafka://h/me:hidden@t",
    "kafka:\\\\me:hidden@h/t",
    "kafka://me:hid/hidden@h/t",
    "file://me:hidden@h/t",
    "me:hidden@h:9092/t",
    "kafka//me:hidden@h/t",
    "kafka://h,me:hidden@g/t",
    "kafka://me%3Ahidden%40h/t",
    "kafka://me%253ahidden%2540h/t",
    "kafka://me:hidden%40h:9092/t",
    "kafka://h:9092/t;password=hidden",
    "kafka://h:9092/t&password=hidden",
    "kafka://h:9092/t;hidden",
    "kafka://h:9092/t%3Fhidden",
    'kafka://h:9092/t?sasl.jaas.config=x password="hidden"',
    "kafka://h:9092/t?sasl.jaas.config=x password = 'hidden and hidden'",
    "kafka://[hidden]:9092/t",
    "kafka://[::1]:9092,[hidden]/t",
    "file://[hidden]/t",
    "kafka://token=hidden/t",
]


@pytest.mark.parametrize("url", MISTYPED)
@pytest.mark.parametrize("use", [open_source, parse_address, Reader])
def test_no_secret_is_repeated(use: Callable[[str], object], url: str) -> None:
    with pytest.raises(VmfstreamError) as error:
        use(url)
    assert "hidden" not in str(error.value)
    assert "hidden" not in without_secrets(f"'{url}', and more")


@pytest.mark.parametrize(
    "text",
    [
        "kafka://h:9092,g:9092/t",
        "kafka://[::1]:9092/t",
        "expected kafka://host[:port][,host...]/topic, got nothing",
        "http://127.0.0.1:8050/ answers",
        "no file C:\\data\\x.csv",
        "got 2021-03-31T12:00:00+02:00 by me@home",
        "kafka://h:99999/t",
        "kafka://[fe80::1%eth0]:9092/t",
        "kafka://h:9092/t; write another topic & go on",
        "no file a%3Ab.csv",
        "load(path, tokeniser=mine)",
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert without_secrets(text) == text
    assert str(InputError(text)) == text


def test_errors_can_be_pickled(tmp_path: Path) -> None:
    error = InputError("cannot read kafka:/me:hidden@h")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "cannot read kafka:/***@h"
