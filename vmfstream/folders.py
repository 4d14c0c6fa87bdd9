"""Folders of data, caches of computed, downloaded and compiled files, writing of files, and names of sources."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TextIO

from vmfstream.errors import InputError


def data_folders() -> tuple[Path, ...]:
    """Return the folders in which data is looked for: ``$VMFSTREAM_DATA`` if it is set, then the user's cache."""
    named = os.environ.get("VMFSTREAM_DATA")
    return (*([Path(named)] if named else []), cache_folder())


def find_data(name: str) -> Path | None:
    """Return the file of that name below the first of ``data_folders()`` that has it, None if none has."""
    return next((folder / name for folder in data_folders() if (folder / name).is_file()), None)


def need_data(name: str) -> Path:
    """Return the file of that name as `find_data` does.

    Raises
    ------
    InputError
        If no data folder has it; the message tells what was looked for and where.
    """
    found = find_data(name)
    if found is None:
        folders = " or ".join(str(folder) for folder in data_folders())
        raise InputError(f"{name} is not on this machine: put it into {folders}, or name a folder in $VMFSTREAM_DATA")
    return found


def cache_folder(program: str = "vmfstream") -> Path:
    """Return the user's cache folder of a ``program``; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / program


def keep_compiled_code(package: Path) -> None:
    """Give compiled code a folder for the time of this process where it can be kept nowhere else, and warn.

    numba keeps it beside the modules of the ``package`` or in the cache of the user, and refuses to start if it may
    write neither, as in a container that is read-only. The folder is told to it, and to processes that are started from
    here, by ``NUMBA_CACHE_DIR``; one that is named there already and can be written is left alone.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if (named and _made(lambda: Path(named))) or os.access(package, os.W_OK) or _made(lambda: cache_folder("numba")):
        return
    import atexit
    import shutil
    import tempfile

    made = tempfile.mkdtemp(prefix="vmfstream-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = made
    warnings.warn(
        f"compiled code is not kept, for neither {f'{named}, ' if named else ''}{package} nor the user's cache can be "
        "written; each start takes a minute longer: let NUMBA_CACHE_DIR name a folder that can",
        RuntimeWarning,
        stacklevel=2,
    )


def _made(folder: Callable[[], Path]) -> bool:
    """Make a folder if it is not there; tell whether it can be written."""
    with suppress(OSError, RuntimeError):  # it cannot be made, or the user has no home
        folder().mkdir(parents=True, exist_ok=True)
        return os.access(folder(), os.W_OK)
    return False


def source_name(source: str) -> str:
    """Return what stays of a source when it is moved: the name of a file, the topics of a Kafka URL."""
    return printable(source.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition("\\")[2])


def write_file(target: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: the one that was there stays until the new one is complete.

    A link stays one: the file that it names is written.

    Parameters
    ----------
    target : Path
    content : str or bytes
        A text is written as UTF-8 with line feeds.

    Raises
    ------
    InputError
        If the file cannot be written, for want of room, right or folder.
    """
    try:
        with _draft_of(target) as draft:
            write_synced(draft, content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def writing_text(target: Path) -> Iterator[TextIO]:
    """Open a file to write bit by bit, which gets its name when it is whole.

    A pipe, a device, and a file in a folder where no other can be made are written as they are.

    Parameters
    ----------
    target : Path

    Raises
    ------
    InputError
        If the file cannot be written. The one that was there stays.
    """
    place = Path(os.path.realpath(target))
    whole = (place.is_file() or not place.exists()) and os.access(place.parent, os.W_OK)
    try:
        written = _draft_of(target) if whole else nullcontext(target)
        with written as draft, draft.open("w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            if whole:
                os.fsync(file.fileno())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def _draft_of(target: Path) -> Iterator[Path]:
    """Yield where to write the draft of a file, which gets its name if the body ends without an error."""
    place = Path(os.path.realpath(target))  # a link stays one
    draft = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        yield draft
        draft.replace(place)
        sync_folder(place.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_synced(path: Path, content: bytes) -> None:
    """Write bytes to a file, which has them on disk when this returns."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def title_of(path: Path) -> str:
    """Return what a page calls a file or folder: by its name, of a file without its endings."""
    return printable(path.resolve().name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem)


def printable(name: str) -> str:
    """Return the name of a file as text; a replacement character stands for bytes that are none.

    Names are taken to be UTF-8, also where Python was told that they are ASCII.
    """
    return name.encode("utf-8", sys.getfilesystemencodeerrors()).decode("utf-8", "replace")
