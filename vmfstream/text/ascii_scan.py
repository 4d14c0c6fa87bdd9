"""Find the words of ASCII texts many bytes at a time; read eight bytes as one number.

After an edit, delete ``__pycache__`` (see `vmfstream.directional.intrinsics`).

Emitted functions get numba's ``typingctx`` first, which calls leave out.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types

from vmfstream.directional.intrinsics import address_of, emit_prefetch, emitted, lowest_bit

BLOCK = 64
"""Bytes that are looked at together; as many must follow the last text."""

BEFORE = 8
"""Bytes that must lie before the first text."""

_QUOTE, _N, _T = ord("'"), ord("n"), ord("t")
# letters have it, digits do not: in one byte, and in eight
_LETTER_BIT = 0x40
_LETTERS = np.uint64(0x4040404040404040)

COPIED = 8
"""Bytes that are copied at once."""


@emitted
def _lowered(typingctx, text, position):  # type: ignore[no-untyped-def]
    """Lower the letters of a block in place; return as bits which bytes are letters or digits, which not ASCII."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8)
        vector = ir.VectorType(byte, BLOCK)

        def each(value: int) -> Any:
            return ir.Constant(vector, [ir.Constant(byte, value)] * BLOCK)

        def among(values: Any, first: str, count: int) -> Any:
            return builder.icmp_unsigned("<", builder.sub(values, each(ord(first))), each(count))

        address = address_of(context, builder, signature.args[0], args[0], args[1], vector)
        found = builder.load(address, align=1)
        lowered = builder.or_(found, builder.select(among(found, "A", 26), each(ord("a") - ord("A")), each(0)))
        builder.store(lowered, address, align=1)
        word = builder.or_(among(lowered, "a", 26), among(lowered, "0", 10))
        wide = builder.icmp_unsigned(">=", found, each(0x80))
        bits = [builder.bitcast(marked, ir.IntType(BLOCK)) for marked in (word, wide)]
        return context.make_tuple(builder, signature.return_type, bits)

    return types.UniTuple(types.int64, 2)(text, types.intp), emit  # type: ignore[no-untyped-call]


@emitted
def eight(typingctx, text, position):  # type: ignore[no-untyped-def]
    """Return the eight bytes of ``text`` from ``position`` on as one number, the first the highest."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        found = builder.load(address_of(context, builder, signature.args[0], args[0], args[1], number), align=1)
        if sys.byteorder == "big":
            return found
        return builder.bswap(found)

    return types.uint64(text, types.intp), emit


@emitted
def _copy_eight(typingctx, source, position, target, place):  # type: ignore[no-untyped-def]
    """Copy the eight bytes from ``position`` on to ``place``."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        found = builder.load(address_of(context, builder, signature.args[0], args[0], args[1], number), align=1)
        builder.store(found, address_of(context, builder, signature.args[2], args[2], args[3], number), align=1)
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp), emit


@njit(cache=True, inline="always")
def copy(source, begin, end, target, place):  # type: ignore[no-untyped-def]
    """Copy ``source[begin:end]`` to ``target`` from ``place`` on, and up to `COPIED` bytes more."""
    while begin < end and begin + COPIED <= source.size:
        _copy_eight(source, begin, target, place)
        begin += COPIED
        place += COPIED
    for i in range(begin, end):
        target[place + i - begin] = source[i]


@emitted
def fetch(typingctx, numbers, position):  # type: ignore[no-untyped-def]
    """Have the processor bring the element at ``position`` of the array ``numbers`` near, without waiting for it."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        emit_prefetch(
            builder, address_of(context, builder, signature.args[0], args[0], args[1], ir.IntType(8)), write=False
        )
        return context.get_dummy_value()

    return types.void(numbers, types.intp), emit


@njit(cache=True, inline="always")
def last_eight(text, stop, length):  # type: ignore[no-untyped-def]
    """Return the last bytes, eight at most, of a word of ``length`` >= 1 bytes of ``text`` that stops before ``stop``.

    They are one number.
    """
    last = eight(text, stop - 8)
    return last if length >= 8 else last & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))


@njit(cache=True, nogil=True)
def ascii_words(text, i, end, shortest, longest, keep_numbers, begins, stops, lasts):  # type: ignore[no-untyped-def]
    """Lower ``text[i:end]`` and find where its words begin and stop (see `vmfstream.text.tokeniser`).

    Return their number, or -1 for a text with other characters than ASCII. The last byte must be a line
    break. What lies up to a block behind is lowered too.

    Words have ``shortest`` to ``longest`` letters; numbers are words with ``keep_numbers``. ``begins``, ``stops`` and
    ``lasts``, see `last_eight`, are filled.
    """
    found = _runs(text, i, end, begins, stops)
    if found < 0:
        return found
    kept = 0
    before = False
    for j in range(found):
        begin, stop = begins[j], stops[j]
        length = stop - begin
        # as `last_eight`, of which a call would count references of the text for every word
        last = eight(text, stop - 8)
        last = last if length >= 8 else last & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
        word = shortest <= length <= longest and (keep_numbers or last & _LETTERS != 0 or _lettered(text, begin, stop))
        if text[begin - 1] == _QUOTE and length <= 2 and _is_ending(last) and _in_run(text[begin - 2]):
            word = False
            # n't
            kept -= before and last == _T and text[begin - 2] == _N
        begins[kept], stops[kept], lasts[kept] = begin, stop, last
        kept += word
        before = word
    return kept


@njit(cache=True, nogil=True)
def _runs(text, i, end, begins, stops):  # type: ignore[no-untyped-def]
    """Lower ``text[i:end]`` and find where its runs of letters and digits begin and stop; see `ascii_words`."""
    first = count = 0
    before = np.int64(0)
    for base in range(i, end, BLOCK):
        run, wide = _lowered(text, base)
        if end - base < BLOCK:
            own = (np.int64(1) << (end - base)) - 1
            run, wide = run & own, wide & own
        if wide != 0:
            return -1
        shifted = (run << 1) | before
        before = np.int64(np.uint64(run) >> np.uint64(BLOCK - 1))
        opening, closing = run & ~shifted, shifted & ~run
        while opening != 0:
            begins[first] = base + lowest_bit(opening)
            opening &= opening - 1
            first += 1
        while closing != 0:
            stops[count] = base + lowest_bit(closing)
            closing &= closing - 1
            count += 1
    return count


@njit(cache=True, nogil=True)
def _is_ending(last):  # type: ignore[no-untyped-def]
    """Tell whether a word of one or two letters, as a number, is an English ending: s t d m ll re ve."""
    return last in (0x73, 0x74, 0x64, 0x6D, 0x6C6C, 0x7265, 0x7665)


@njit(cache=True, nogil=True)
def _in_run(byte):  # type: ignore[no-untyped-def]
    """Tell whether a lowered byte is a letter or a digit."""
    return 0x61 <= byte <= 0x7A or 0x30 <= byte <= 0x39


@njit(cache=True, nogil=True)
def _lettered(text, begin, stop):  # type: ignore[no-untyped-def]
    """Tell whether one of the bytes of a run, the last eight aside, is a letter."""
    found = False
    for i in range(begin, stop - 8):
        found |= text[i] & _LETTER_BIT != 0
    return found
