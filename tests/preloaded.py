"""Libraries in C that are loaded before a program, to see or change what it asks of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def library(source: Path, folder: Path) -> Path:
    """Compile a file of C into a ``folder``; return where the library is."""
    compiler = shutil.which("cc")
    if compiler is None:
        if os.environ.get("CI"):
            pytest.fail("this needs a C compiler")
        pytest.skip("needs a C compiler")
    found = folder / f"{source.stem}.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", found, source, "-ldl", "-lpthread"], check=True)
    return found
