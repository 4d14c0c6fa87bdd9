"""How the command line ends."""

from __future__ import annotations

import pytest

from vmfstream import cli


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError("Unable to allocate 954. MiB")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    said = (
        "vmfstream: not enough memory (Unable to allocate 954. MiB); a run takes less with fewer --topics or a smaller"
    )
    assert capsys.readouterr().err.startswith(said)
