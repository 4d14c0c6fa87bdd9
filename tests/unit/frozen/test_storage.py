"""Models as files: what is written is read again, and nothing else."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.frozen.frozen_runs import followed, texts
from vmfstream import FrozenModel
from vmfstream.errors import FormatVersion, InputError

NEW = texts(40, seed=9)
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> FrozenModel:
    """Return a model of a run with stems, which has all arrays that there are."""
    return FrozenModel.load(followed(tmp_path_factory.mktemp("run") / "run.duckdb", stem="english"))


@pytest.fixture
def folder(model: FrozenModel, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["model.zip", "model"])
def test_what_is_written_is_read(model: FrozenModel, tmp_path: Path, name: str) -> None:
    model.save(tmp_path / name)
    again = FrozenModel.load(tmp_path / name)
    for column, expected in model.label(NEW).items():
        np.testing.assert_array_equal(again.label(NEW)[column], expected)
    assert again.topics == model.topics
    assert (again.title, again.slice) == (model.title, model.slice)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(InputError, match=r"cannot write the model .*: File name too long"):
        model.save(tmp_path / ("x" * 256))
    with pytest.raises(InputError, match="exists already"):
        model.save(tmp_path / name)


def test_settings_of_stories_with_fewer_numbers_are_read(model: FrozenModel, folder: Path) -> None:
    changed("stories.settings", lambda a: a[:8])(folder)
    np.testing.assert_array_equal(FrozenModel.load(folder).label(NEW)["story"], model.label(NEW)["story"])


def test_other_programs_can_read_it(model: FrozenModel, tmp_path: Path) -> None:
    """The program in the documentation, which needs numpy alone, finds the topics that the model does."""
    written = (ROOT / "docs" / "run-file.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(import json.*?)^```", written, re.MULTILINE | re.DOTALL)
    plain = FrozenModel.load(followed(tmp_path / "plain.duckdb"))
    plain.save(tmp_path / "model.zip")
    scope: dict[str, Any] = {}
    exec(program.replace('"model.zip"', repr(str(tmp_path / "model.zip"))), scope)
    found = [scope["topic_of"](text) for text in NEW]
    scope["model"].close()
    assert found == plain.label(NEW)["topic"].tolist()


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / f"{name}.npy"
        np.save(path, change(np.load(path)))

    return write


def said(**given: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8")) | given
        (folder / "model.json").write_text(json.dumps(about), encoding="utf-8")

    return write


def setting(at: int, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (changed("topics.f", lambda a: a[:-1]), "topics.f: expected a size of "),
        (changed("topics.f", setting(0, np.nan)), "topics.f: expected finite numbers, got nan"),
        (changed("topics.f", lambda a: a.astype(np.float64)), "topics.f: expected float32 with 2 dimensions"),
        (changed("topics.scalars", setting(0, -1.0)), "topics.scalars: expected a concentration"),
        (changed("topics.scalars", setting(2, 1e7)), "topics.scalars: expected a concentration"),
        (changed("topics.ids", setting(0, 77)), "topics.ids: expected the numbers of the topics in model.json"),
        (changed("encoder.columns", setting(0, 10**6)), "encoder.columns: expected less than "),
        (changed("encoder.columns", setting(0, -1)), "encoder.columns: expected at least 0, got -1"),
        (
            changed("encoder.form_starts", setting(3, 10**9)),
            "encoder.form_starts: expected numbers that rise",
        ),
        (changed("encoder.form_term", setting(-1, 10**6)), "encoder.form_term: expected less than "),
        (changed("encoder.settings", lambda a: a[:-2]), "damaged, or of other settings than it says"),
        (changed("stories.settings", setting(10, 0.0)), "stories.settings: expected settings of stories"),
        (changed("stories.mixture.indices", setting(0, 10**7)), "stories.mixture.indices: expected less than "),
        (changed("stories.mixture.indices", setting(0, -5)), "stories.mixture.indices: expected at least 0"),
        (changed("stories.mixture.indptr", setting(-1, 10**9)), "stories.mixture.indptr: expected numbers that rise"),
        (changed("stories.mixture.form", setting(0, 2**40)), "stories.mixture.form: expected at most"),
        (changed("stories.weights.df", lambda a: np.append(a, a)), "stories.weights.df: expected document frequencies"),
        (changed("encoder.columns", lambda a: np.roll(a, 1) * 0 + a[0]), "encoder.columns: expected each number once"),
        (lambda folder: (folder / "topics.gamma.npy").unlink(), "topics.gamma is missing"),
        (lambda folder: (folder / "topics.gamma.npy").write_bytes(b"\x93NUMPY"), "topics.gamma.npy: "),
        (lambda folder: np.save(folder / "topics.gamma.npy", np.array([{}], object)), "expected numbers, found object"),
        (lambda folder: (folder / "model.json").write_text("{"), "model.json is no JSON"),
        (said(format="something"), "is no frozen model of vmfstream"),
        (said(version="one"), "version: expected a number from 1 on, got 'one'"),
        (said(settings={"topics": "many"}), "damaged, or of other settings than it says"),
        (said(topics=[{"topic": 0}]), "expected a title, and topics that have a number and a name"),
        (lambda folder: (folder / "model.json").unlink(), "it has no model.json"),
    ],
)
def test_what_is_damaged_is_refused(folder: Path, damage: Callable[[Path], Any], says: str) -> None:
    damage(folder)
    with pytest.raises(InputError, match=re.escape(says)):
        FrozenModel.load(folder)


@pytest.mark.thorough
def test_no_finite_numbers_give_probabilities_that_are_none(folder: Path) -> None:
    good = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    several = [{"topics.f": good["topics.f"] * 1e20, "topics.gamma": good["topics.gamma"] * 1e20}]
    for number in (1e-300, 1e14, 1e300):
        for name, array in good.items():
            if array.dtype.kind == "f":
                small = min(number, 0.5 * float(np.finfo(array.dtype).max))
                several += [{name: np.full_like(array, value)} for value in (small, -small)]
                several.append({name: setting(0, small)(array.copy())})
    taken = 0
    for arrays in several:
        for name, array in (good | arrays).items():
            np.save(folder / f"{name}.npy", array)
        with suppress(InputError):
            labels = FrozenModel.load(folder).label(NEW)
            taken += 1
            assert np.isfinite(labels["probability"]).all(), arrays
            assert np.isfinite(labels["novelty"]).all(), arrays
    assert 20 < taken < len(several)


def test_no_array_can_be_cut_or_be_of_another_type(folder: Path) -> None:
    for path in sorted(folder.glob("*.npy")):
        kept = path.read_bytes()
        array = np.load(path)
        fewer = 3 if path.stem == "stories.settings" else 1  # with one or two less they are those of models of before
        for wrong in (array[:-fewer], array.astype(np.complex64), array[None]):
            np.save(path, wrong)
            with pytest.raises(InputError):
                FrozenModel.load(folder)
        path.write_bytes(kept)
    assert FrozenModel.load(folder).label(NEW)["topic"].size == 40


def test_damaged_and_foreign_zip_files_are_refused(model: FrozenModel, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    model.save(path)
    content = path.read_bytes()
    for at in (10, len(content) // 2, len(content) - 10):
        path.write_bytes(content[:at])
        with pytest.raises(InputError):
            FrozenModel.load(path)
    path.write_bytes(content[:2000] + bytes(200) + content[2200:])
    with pytest.raises(InputError):
        FrozenModel.load(path)
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("letter.txt", "hello")
    path.write_bytes(body.getvalue())
    with pytest.raises(InputError, match=r"it has no model\.json"):
        FrozenModel.load(path)


def test_newer_formats_and_moments_are_told(folder: Path) -> None:
    with pytest.raises(InputError, match="holds one moment"):
        FrozenModel.load(folder, at="2002")
    said(version=99)(folder)
    with pytest.raises(FormatVersion, match="has format 99"):
        FrozenModel.load(folder)
    shutil.rmtree(folder)
    with pytest.raises(InputError):
        FrozenModel.load(folder)


def test_a_place_that_cannot_be_written_is_told(model: FrozenModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*no folder"):
        model.save(tmp_path / "no folder" / "model.zip")


@pytest.mark.parametrize("name", ["model.zip", "model"])
def test_a_model_that_cannot_be_written_leaves_nothing(
    model: FrozenModel, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        model.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
