"""Fit estimators to documents that are larger than memory or held on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array, issparse, load_npz

from vmfstream.directional.chunked import ChunkedRows
from vmfstream.engine.scale.cluster import DaskCluster
from vmfstream.engine.scale.executor import InProcess
from vmfstream.errors import InputError
from vmfstream.protocols import Executor


def chunked(parts: Any, *, executor: Executor | str | None = None, columns: int | None = None) -> Any:
    """Take rows in chunks as the ``X`` of `VMFMixture`, `BayesianVMFMixture` and `TemporalVMFMixture`.

    Parameters
    ----------
    parts : sequence, or a dask collection
        Each part is a matrix, CSR or dense; or the name of a file ``.npz`` (as `scipy.sparse.save_npz` or `numpy.savez`
        with one array writes it) or ``.parquet``; or a callable without arguments that returns a matrix. A dask array,
        or one of scipy's matrices in dask delayed objects, is taken block of rows by block of rows.
    executor : Executor or str, optional
        Where passes are made: the address of a Dask scheduler, ``dask://host:8786``; by default this process.
    columns : int, optional
        Number of columns, for sparse rows in Parquet: lists ``indices`` and ``values`` per row. Other Parquet files
        hold numbers in all of their columns.

    Returns
    -------
    ChunkedRows
        Matrices are held by the workers; files and callables are read again in every pass, one at a time by each
        worker, so that memory is bounded by the largest part. Labels, weights and what else belongs to a row, for
        Bayesian and temporal mixtures also memberships, (N, K) float32, are held in this process.

    Raises
    ------
    ValueError
        If parts differ in columns or precision, there are none, or one is no matrix of finite numbers.
    InputError
        If a file is of another kind, or cannot be read.

    Notes
    -----
    ``vmfstream.parted`` is the old name of this function; it warns and will go with the next version.

    A fit is that of the same rows in one matrix, but for the order in which numbers are added: the same start, the
    same sweeps, estimates that differ by float32 rounding. It does not depend on the number of workers. Rows of a
    `TemporalVMFMixture` have to be in the order of their slices; Gibbs sampling needs one matrix.

    Examples
    --------
    >>> from vmfstream import VMFMixture
    >>> parts = [np.array([[1, 0.1], [0.1, 1]]), np.array([[1, 0.2], [0.2, 1]])]
    >>> VMFMixture(n_components=2, random_state=0).fit(chunked(parts)).labels_.tolist()
    [0, 1, 0, 1]
    """
    runner: Executor = DaskCluster(executor) if isinstance(executor, str) else executor or InProcess()
    return ChunkedRows.of([_part(part, columns) for part in _listed(parts)], runner)


def _listed(parts: Any) -> Sequence[Any]:
    """Parts of a sequence, blocks of rows of a dask collection."""
    if getattr(parts, "ndim", 0) == 2 and not hasattr(parts, "to_delayed"):
        raise ValueError("parts: expected a sequence of matrices, got one; a matrix in memory is given to fit as it is")
    if not hasattr(parts, "to_delayed"):
        return [_delayed(part) if hasattr(part, "__dask_graph__") else part for part in parts]
    blocks = np.asarray(parts.to_delayed(), dtype=object)
    if blocks.ndim == 2 and blocks.shape[1] != 1:
        raise ValueError(f"dask array: expected chunks of whole rows, got {blocks.shape[1]} chunks per row")
    return [_delayed(block) for block in blocks.ravel()]


def _delayed(block: Any) -> Callable[[], Any]:
    return partial(_computed, block)


def _computed(block: Any) -> Any:
    return block.compute(scheduler="synchronous")


def _part(part: Any, columns: int | None) -> Any:
    if isinstance(part, str | Path):
        readers: dict[str, Callable[[], Any]] = {
            ".npz": partial(_npz, str(part)),
            ".parquet": partial(_parquet, str(part), columns),
        }
        suffix = Path(part).suffix.lower()
        if suffix not in readers:
            raise InputError(f"{part}: expected a file {' or '.join(readers)}")
        return readers[suffix]
    if not callable(part) and not issparse(part) and np.ndim(part) != 2:
        raise ValueError(f"parts: expected matrices, names of files or callables, got {type(part).__name__}")
    return part


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Raise InputError, which names the file, if the body cannot read it."""
    try:
        Path(path).stat()  # pyarrow does not say that there is no file
        yield
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, BadZipFile) as error:
        raise InputError(f"{path}: expected a file {Path(path).suffix}, got a damaged one or another kind") from error


def _npz(path: str) -> Any:
    with _readable(path), np.load(path, allow_pickle=False) as stored:
        if "format" in stored:
            return load_npz(path)
        if len(stored.files) != 1:
            raise InputError(f"{path}: expected a sparse matrix or one array, found {', '.join(stored.files)}")
        return stored[stored.files[0]]


def _parquet(path: str, columns: int | None) -> Any:
    import pyarrow.parquet as pq

    with _readable(path):
        table = pq.read_table(path)
    if {"indices", "values"} <= set(table.column_names):
        if columns is None:
            raise ValueError(f"columns: expected the number of columns of the sparse rows in {path}, got None")
        indices, values = (table.column(name).combine_chunks() for name in ("indices", "values"))
        parts = (values.flatten().to_numpy(), indices.flatten().to_numpy(), indices.offsets.to_numpy())
        return csr_array(parts, shape=(table.num_rows, columns))
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names])
