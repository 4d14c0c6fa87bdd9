"""Processor instructions for compiled code, emitted where numba's own code would be slower.

``numba`` does not see changes of emitted code when it looks up compiled callers in its cache: after an edit, delete
``__pycache__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


def emitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give numba a function that emits code; the type of what numba returns would be that of the emitter."""
    compiled: Callable[..., Any] = intrinsic(function)
    return compiled


def address_of(context: Any, builder: Any, kind: Any, value: Any, position: Any, found: Any) -> Any:
    """Return the address of what has the type ``found`` from a ``position`` of an array on.

    ``context`` and ``builder`` are numba's of the code being emitted, ``kind`` and ``value`` the array's type and
    value.
    """
    data = context.make_array(kind)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [position]), found.as_pointer())


def emit_prefetch(builder: Any, address: Any, *, write: bool) -> None:
    """Have the processor bring what lies at an ``address`` of bytes near, without waiting for it.

    ``builder`` emits the request; ``write`` says that it will be written, else it is only read.
    """
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    builder.call(prefetch, [address, *(ir.Constant(flag, value) for value in (int(write), 3, 1))])  # data, to stay


@emitted
def bits_set(typingctx, bits):  # type: ignore[no-untyped-def]
    """Return how many bits are set."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.int64(types.int64), emit


@emitted
def lowest_bit(typingctx, bits):  # type: ignore[no-untyped-def]
    """Return the place of the lowest bit that is set; ``bits`` must not be zero."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), emit
