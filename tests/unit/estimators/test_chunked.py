"""Rows in parts: the fit of one matrix, for any workers, from files, callables and dask collections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, save_npz

import vmfstream as vs
from tests.unit.engine.test_executor import Many
from vmfstream.bayes.temporal import fitting
from vmfstream.engine.scale.executor import InProcess
from vmfstream.errors import InputError, WorkersLost


def rows(n: int = 600, d: int = 60, dtype: Any = np.float64) -> csr_array:
    """Sparse rows around three directions, two of them without any coordinate."""
    rng = np.random.default_rng(5)
    centres = np.repeat(np.eye(3), d // 3, axis=1) * 3 + 0.2
    x = rng.poisson(centres[rng.integers(0, 3, n)] * 0.4).astype(dtype)
    x[[7, n - 30]] = 0
    return csr_array(x)


def cut(x: Any, sizes: tuple[int, ...] = (130, 0, 250, 90, 130)) -> list[Any]:
    ends = np.cumsum(sizes)
    return [x[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def models() -> dict[str, Callable[[], Any]]:
    return {
        "soft": lambda: vs.VMFMixture(n_components=4, n_init=1, random_state=0),
        "hard": lambda: vs.VMFMixture(n_components=4, n_init=1, assignment="hard", random_state=0),
        "perturbed": lambda: vs.VMFMixture(n_components=3, n_init=1, init="perturbed-mean", random_state=0),
        "bayesian": lambda: vs.BayesianVMFMixture(n_components=3, random_state=0),
        "map": lambda: vs.BayesianVMFMixture(
            n_components=3, inference="map", n_init=1, init="annealed", random_state=0
        ),
    }


def close(a: Any, b: Any, tolerance: float) -> None:
    np.testing.assert_array_equal(a.labels_, b.labels_)
    for name in ("means_", "weights_", "concentrations_", "lower_bounds_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=tolerance, atol=tolerance, err_msg=name)
    assert a.n_iter_ == b.n_iter_
    assert a.n_empty_rows_ == b.n_empty_rows_ == 2


@pytest.mark.filterwarnings("ignore:.*has not converged")
@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-4)])
def test_a_fit_in_parts_is_that_of_one_matrix(name: str, dtype: Any, tolerance: float) -> None:
    x = rows(dtype=dtype)
    whole, parts = models()[name]().fit(x), models()[name]().fit(vs.chunked(cut(x)))
    close(parts, whole, tolerance)
    np.testing.assert_array_equal(parts.predict(vs.chunked(cut(x))), whole.predict(x))
    np.testing.assert_allclose(
        parts.score_samples(vs.chunked(cut(x))), whole.score_samples(x), rtol=tolerance, atol=1e-3
    )


@pytest.mark.parametrize("start", ["k-means++", "agglomerative"])
def test_k_means_with_local_search_in_parts_is_that_of_one_matrix(start: str) -> None:
    x = rows()
    options: dict[str, Any] = {"init": start, "local_search": 5, "random_state": 0}
    whole, parts = vs.SphericalKMeans(4, **options).fit(x), vs.SphericalKMeans(4, **options).fit(vs.chunked(cut(x)))
    np.testing.assert_array_equal(parts.labels_, whole.labels_)
    np.testing.assert_allclose(parts.lower_bounds_, whole.lower_bounds_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*has not converged")
@pytest.mark.parametrize("inference", ["smoother", "filter", "meanfield"])
def test_a_temporal_fit_in_parts_is_that_of_one_matrix(inference: str) -> None:
    x, slices = rows(), np.repeat([0, 1, 3], 200)
    # one start: of two, equally good, rounding may choose
    options: dict[str, Any] = {"n_components": 3, "inference": inference, "max_iter": 5, "n_init": 1, "random_state": 0}
    made = [vs.TemporalVMFMixture(**options) for _ in range(2)]
    whole, parts = made[0].fit(x, slices=slices), made[1].fit(vs.chunked(cut(x)), slices=slices)
    close(parts, whole, 1e-9)
    assert parts.means_.shape == (4, 3, 60)


def test_some_rows_of_large_slices_in_parts_choose_the_persistence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "JUDGED", 70)
    x, slices, weight = rows(), np.repeat([0, 1, 3], 200), np.random.default_rng(2).integers(0, 3, 600)
    options: dict[str, Any] = {"n_components": 3, "persistence": "auto", "max_iter": 5, "n_init": 1, "random_state": 0}
    whole = vs.TemporalVMFMixture(**options).fit(x, slices=slices)
    parts = vs.TemporalVMFMixture(**options).fit(vs.chunked(cut(x)), slices=slices)
    assert parts.persistence_ == whole.persistence_
    close(parts, whole, 1e-9)
    weighted = vs.TemporalVMFMixture(**options).fit(vs.chunked(cut(x)), sample_weight=weight, slices=slices)
    assert weighted.persistence_ in fitting.PERSISTENCES
    assert np.isfinite(weighted.lower_bound_)


def test_any_number_of_workers_gives_the_same_bits() -> None:
    x = cut(rows(dtype=np.float32), (60,) * 10)
    one, many = (models()["soft"]().fit(vs.chunked(x, executor=Many(n))) for n in (1, 3))
    np.testing.assert_array_equal(one.means_, many.means_)
    np.testing.assert_array_equal(one.lower_bounds_, many.lower_bounds_)


def test_weights_of_rows_count_in_parts_too() -> None:
    x = rows()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, x.shape[0])
    made = [models()["soft"]() for _ in range(2)]
    close(made[0].fit(vs.chunked(cut(x)), sample_weight=weight), made[1].fit(x, sample_weight=weight), 1e-9)


def test_dense_parts() -> None:
    x = rows().toarray()
    close(models()["soft"]().fit(vs.chunked(cut(x))), models()["soft"]().fit(x), 1e-9)


def test_files_and_callables_are_read_one_at_a_time_in_every_pass(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = rows()
    a, _, b, c, d = cut(x)
    save_npz(tmp_path / "a.npz", a)
    np.savez(tmp_path / "b.npz", b.toarray())
    lists = {
        "indices": [c.indices[i:j] for i, j in zip(c.indptr, c.indptr[1:], strict=False)],
        "values": [c.data[i:j] for i, j in zip(c.indptr, c.indptr[1:], strict=False)],
    }
    pq.write_table(pa.table(lists), tmp_path / "c.parquet")
    dense = {f"x{i}": column for i, column in enumerate(d.toarray().T)}
    pq.write_table(pa.table(dense), tmp_path / "d.parquet")
    calls: list[int] = []

    def sparse_again() -> csr_array:
        calls.append(1)
        return b

    parts = [tmp_path / "a.npz", sparse_again, str(tmp_path / "c.parquet"), d]
    whole = models()["soft"]().fit(x)
    close(models()["soft"]().fit(vs.chunked(parts, columns=60)), whole, 1e-9)
    assert len(calls) > whole.n_iter_
    columns = vs.chunked([tmp_path / "d.parquet"])
    np.testing.assert_allclose((columns @ np.ones(60)), vs.chunked([d]) @ np.ones(60))
    np.testing.assert_allclose((vs.chunked([tmp_path / "b.npz"]) @ np.ones(60)), vs.chunked([b]) @ np.ones(60))


def test_a_dask_array_and_delayed_matrices() -> None:
    import dask

    x = rows()
    whole = models()["soft"]().fit(x)
    delayed = [dask.delayed(part) for part in cut(x)]
    close(models()["soft"]().fit(vs.chunked(delayed)), whole, 1e-9)

    class Blocks:
        """What a dask array offers."""

        def to_delayed(self) -> NDArray[Any]:
            out = np.empty((2, 1), object)
            out[:, 0] = [dask.delayed(part) for part in (x[:200], x[200:])]
            return out

    close(models()["soft"]().fit(vs.chunked(Blocks())), whole, 1e-9)


def test_a_few_rows_come_in_the_order_asked_for() -> None:
    x = vs.chunked(cut(rows()))
    wanted = np.array([599, 0, 131, 130, 0, 380])
    unit = vs.chunked([rows()])[np.arange(600)].toarray()
    np.testing.assert_array_equal(x[wanted].toarray(), unit[wanted])
    np.testing.assert_array_equal(x[100:400][np.array([31, 299])].toarray(), unit[[131, 399]])
    assert x[5:5].shape == (0, 60)


def test_lost_workers_are_asked_again_but_not_for_ever() -> None:
    class Weak(InProcess):
        """Fails at the given calls."""

        def __init__(self, *lost: int) -> None:
            self.lost, self.calls = lost, 0

        def map(self, function: Any, calls: Any) -> list[Any]:
            self.calls += 1
            if self.calls in self.lost:
                raise WorkersLost("gone")
            return super().map(function, calls)

    class Fickle(InProcess):
        """Fails the first time that anything is to be shared, and that its workers are counted."""

        def __init__(self) -> None:
            self.turns = 0

        def _turn(self) -> None:
            self.turns += 1
            if self.turns in (1, 3):
                raise WorkersLost("gone")

        @property
        def workers(self) -> int:
            self._turn()
            return 1

        def share(self, value: Any) -> Any:
            self._turn()
            return value

    x = cut(rows())
    weak, strong = (models()["soft"]().fit(vs.chunked(x, executor=e)) for e in (Weak(3 + len(x), 20, 21), InProcess()))
    np.testing.assert_array_equal(weak.means_, strong.means_)
    fickle = vs.chunked(x, executor=Fickle())
    np.testing.assert_array_equal(fickle @ np.ones(60), vs.chunked(x) @ np.ones(60))
    with pytest.raises(WorkersLost):
        vs.chunked(x, executor=Weak(*range(2 + len(x), 40))) @ np.ones(60)


def test_what_cannot_be_parts_is_refused(tmp_path: Path) -> None:
    x = rows()
    with pytest.raises(ValueError, match="expected at least one, got none"):
        vs.chunked([])
    with pytest.raises(ValueError, match="expected 60 columns of float64 as in the first, got 60 of float32 in part 1"):
        vs.chunked([x, x.astype(np.float32)])
    with pytest.raises(ValueError, match="got 59 of float64 in part 1"):
        vs.chunked([x, x[:, :59]])
    with pytest.raises(InputError, match=r"rows\.csv: expected a file \.npz or \.parquet"):
        vs.chunked([tmp_path / "rows.csv"])
    with pytest.raises(ValueError, match="names of files or callables, got int"):
        vs.chunked([3])
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "text.parquet").write_text("no table")
    for kind in ("npz", "parquet"):
        with pytest.raises(InputError, match=rf"text\.{kind}: expected a file \.{kind}, got a damaged one"):
            vs.chunked([tmp_path / f"text.{kind}"])
        with pytest.raises(InputError, match=rf"cannot read .*none\.{kind}: No such file"):
            vs.chunked([tmp_path / f"none.{kind}"])
    missing = x.copy()
    missing.data[x.indptr[5]] = np.nan
    for part in (missing, lambda: missing):
        with pytest.raises(ValueError, match=r"^part 1: x: expected finite values, .* got nan in row 5"):
            vs.chunked([x, part])
    for matrix in (x, x.toarray(), pd.DataFrame(x.toarray())):
        with pytest.raises(ValueError, match=r"^parts: expected a sequence of matrices, got one"):
            vs.chunked(matrix)
    with pytest.raises(ValueError, match="row 2 is not"):
        vs.TemporalVMFMixture(n_components=3).fit(vs.chunked([x]), slices=[0, 0, 1, 0] + [1] * 596)
    with pytest.raises(ValueError, match="gibbs"):
        vs.BayesianVMFMixture(n_components=3, inference="gibbs").fit(vs.chunked([x]))
    with pytest.raises(ValueError, match="gibbs"):
        vs.HierarchicalVMFMixture(2, 2, inference="gibbs").fit(vs.chunked([x]))
    with pytest.raises(ValueError, match="gibbs"):
        vs.TemporalVMFMixture(n_components=3, inference="gibbs").fit(vs.chunked([x]))
    with pytest.raises(ValueError, match="expected 60 columns, got 59"):
        vs.VMFMixture(n_components=2, random_state=0).fit(x).predict(vs.chunked([x[:, :59]]))


def test_the_old_name_warns_and_does_the_same() -> None:
    with pytest.warns(DeprecationWarning, match=r"vmfstream\.parted is now vmfstream\.chunked"):
        assert vs.parted is vs.chunked


def test_starts_compete_in_the_same_sample_of_rows_in_parts() -> None:
    x = rows(4600)
    whole = vs.VMFMixture(3, random_state=0).fit(x)
    close(vs.VMFMixture(3, random_state=0).fit(vs.chunked(cut(x, (1300, 0, 2500, 800)))), whole, 1e-9)
