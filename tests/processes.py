"""Processes of tests, forked from one server that has loaded the compiled code and what they import."""

from __future__ import annotations

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.warmed"])
