"""Row operations on 16 to 128 topics at a time, kept in vector registers.

A document's scores are a sum of rows of the matrix of means, one row a word. Written as a loop over topics inside a
loop over words, the running sums go through memory once a word; here the loop over words is emitted with the sums in
registers, which is several times faster and compiles in a fraction of the time that written-out scalars need.

The rows of a document's words lie far apart, mostly outside the nearest caches. Every loop asks for the row of a word
some words ahead of the one it works on, so that it is at hand when its turn comes; asking changes no result.

After an edit, delete ``__pycache__`` (see `vmfstream.directional.intrinsics`).

Emitted functions get numba's ``typingctx`` first, which calls leave out.

A document's words are ``indices`` and ``data`` from ``start`` to ``stop``; the topics are those from ``column`` on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from vmfstream.directional.intrinsics import emit_prefetch, emitted

NARROW = 16
WIDEST = 128 if binding.get_host_cpu_features().get("avx512f") else 64
WIDTHS = tuple(range(NARROW, WIDEST + 1, NARROW))
"""Topics whose sums fit the vector registers."""

_GATHERED, _ADDED = 16, 64  # words between asking for a row and its turn, to be read and to be added to
_LINE = 64  # bytes that come into the cache together

# contract: a product and a sum may be one instruction. Nothing else is relaxed, so that sums keep their order.
_FUSE = ("contract",)


class _Row:
    """Reads and writes ``width`` neighbours of an array through a vector."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any, width: int) -> None:
        self.builder = builder
        array = context.make_array(kind)(context, builder, value)
        self.data = array.data
        self.columns = builder.extract_value(array.shape, len(array.shape.type) - 1)
        self.scalar = context.get_data_type(kind.dtype)
        self.vector = ir.VectorType(self.scalar, width)
        self.align = 4 if kind.dtype == types.float32 else 8

    def address(self, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(self.data, [offset]), self.vector.as_pointer())

    def beside(self, address: Any, columns: int) -> Any:
        """Return the address so many columns, a multiple of the width, behind another."""
        return self.builder.gep(address, [ir.Constant(ir.IntType(32), columns // self.vector.count)])

    def at(self, row: Any, column: Any) -> Any:
        return self.address(self.builder.add(self.builder.mul(row, self.columns), column))

    def load(self, address: Any) -> Any:
        return self.builder.load(address, align=self.align)

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, address, align=self.align)

    def spread(self, scalar: Any) -> Any:
        """Repeat a scalar over a vector."""
        index = ir.IntType(32)
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(index, 0))
        zeros = ir.Constant(ir.VectorType(index, self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(first, undefined, zeros)


def _ask(row: _Row, word: Any, column: Any, width: int, *, write: bool) -> None:
    """Emit requests for ``width`` columns of a word's row, which is soon read or written."""
    builder = row.builder
    first = builder.bitcast(row.at(word, column), ir.IntType(8).as_pointer())
    for offset in range(0, row.align * width, _LINE):
        emit_prefetch(builder, builder.gep(first, [ir.Constant(ir.IntType(32), offset)]), write=write)


def _element(context: Any, builder: Any, kind: Any, value: Any, position: Any) -> Any:
    array = context.make_array(kind)(context, builder, value)
    return builder.load(builder.gep(array.data, [position]))


def _word(context: Any, builder: Any, kind: Any, value: Any, position: Any) -> Any:
    """Load a word's number and widen it to the type of an index."""
    word = _element(context, builder, kind, value, position)
    return context.cast(builder, word, kind.dtype, types.intp)


@emitted
def dot_block(typingctx, indices, data, start, stop, m, column, width, out):  # type: ignore[no-untyped-def]
    """out[column : column + width] = sum_j data[j] m[indices[j], column : column + width], start <= j < stop.

    ``m`` is (D, kp) and ``out`` (kp,). ``width`` is one of `WIDTHS`; every one has a loop of its own.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        done = builder.append_basic_block("dotted")
        choice = builder.switch(args[6], done)
        for width in WIDTHS:
            block = builder.append_basic_block(f"dot{width}")
            choice.add_case(ir.Constant(args[6].type, width), block)
            builder.position_at_end(block)
            _emit_dot(context, builder, signature.args, args, width)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(indices, data, types.intp, types.intp, m, types.intp, types.intp, out), emit


def _emit_dot(context: Any, builder: Any, kinds: Any, args: Any, width: int) -> None:
    """Emit the loop over words for one width, its sums a vector of `NARROW` topics each."""
    row, target = (_Row(context, builder, kinds[at], args[at], NARROW) for at in (4, 7))
    lanes = range(0, width, NARROW)
    with builder.goto_entry_block():  # only there does the optimiser turn them into registers
        totals = [builder.alloca(row.vector) for _ in lanes]
    for total in totals:
        builder.store(ir.Constant(row.vector, None), total)
    kind = args[2].type
    words = builder.extract_value(context.make_array(kinds[0])(context, builder, args[0]).shape, 0)
    with cgutils.for_range_slice(builder, args[2], args[3], ir.Constant(kind, 1), kind) as (j, _):
        later = builder.add(j, ir.Constant(kind, _GATHERED))  # of this document or the next
        later = builder.select(builder.icmp_signed("<", later, words), later, j)
        _ask(row, _word(context, builder, kinds[0], args[0], later), args[5], width, write=False)
        place = row.at(_word(context, builder, kinds[0], args[0], j), args[5])
        value = row.spread(_element(context, builder, kinds[1], args[1], j))
        for lane, total in zip(lanes, totals, strict=True):
            product = builder.fmul(value, row.load(row.beside(place, lane)), flags=_FUSE)
            builder.store(builder.fadd(builder.load(total), product, flags=_FUSE), total)
    first = target.address(args[5])
    for lane, total in zip(lanes, totals, strict=True):
        target.store(builder.load(total), target.beside(first, lane))


@emitted
def add_entry(typingctx, indices, data, start, stop, s, column, weight, then, end, beside):  # type: ignore[no-untyped-def]
    """s[indices[j], column] += data[j] weight, start <= j < stop; ``weight`` is of the dtype of s.

    Towards the end the rows of the words from ``then`` to ``end`` are asked for, at the column ``beside``.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        row = _Row(context, builder, kinds[4], args[4], NARROW)

        def add(j: Any, word: Any) -> None:
            place = builder.gep(row.data, [builder.add(builder.mul(word, row.columns), args[5])])
            product = builder.fmul(_element(context, builder, kinds[1], args[1], j), args[6], flags=_FUSE)
            builder.store(builder.fadd(builder.load(place), product, flags=_FUSE), place)

        _emit_sum(context, builder, kinds, args, (row, 1), add)
        return context.get_dummy_value()

    where = (types.intp, types.intp, s, types.intp, s.dtype, types.intp, types.intp, types.intp)
    return types.void(indices, data, *where), emit


@emitted
def add_rows(typingctx, indices, data, start, stop, s, column, weight, then, end, beside):  # type: ignore[no-untyped-def]
    """s[indices[j], column : column + NARROW] += data[j] weight[column : column + NARROW], start <= j < stop.

    ``then``, ``end`` and ``beside`` as in `add_entry`.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        row, source = (_Row(context, builder, kinds[at], args[at], NARROW) for at in (4, 6))
        weights = source.load(source.address(args[5]))

        def add(j: Any, word: Any) -> None:
            place = row.at(word, args[5])
            value = row.spread(_element(context, builder, kinds[1], args[1], j))
            product = builder.fmul(value, weights, flags=_FUSE)
            row.store(builder.fadd(row.load(place), product, flags=_FUSE), place)

        _emit_sum(context, builder, kinds, args, (row, NARROW), add)
        return context.get_dummy_value()

    where = (types.intp, types.intp, s, types.intp, weight, types.intp, types.intp, types.intp)
    return types.void(indices, data, *where), emit


def _emit_sum(
    context: Any, builder: Any, kinds: Any, args: Any, asked: tuple[_Row, int], add: Callable[[Any, Any], None]
) -> None:
    """Emit the loops over words of `add_entry` and `add_rows`: own later rows are asked for first, then others."""
    _, _, start, stop, _, column, _, then, end, beside = args
    kind = start.type
    one, ahead = ir.Constant(kind, 1), ir.Constant(kind, _ADDED)
    last = builder.sub(stop, ahead)
    turn = builder.select(builder.icmp_signed(">", last, start), last, start)
    row, width = asked
    with cgutils.for_range_slice(builder, start, turn, one, kind) as (j, _):
        later = _word(context, builder, kinds[0], args[0], builder.add(j, ahead))
        _ask(row, later, column, width, write=True)
        add(j, _word(context, builder, kinds[0], args[0], j))
    with cgutils.for_range_slice(builder, turn, stop, one, kind) as (j, _):
        later = builder.add(then, builder.sub(j, turn))
        later = builder.select(builder.icmp_signed("<", later, end), later, j)
        _ask(row, _word(context, builder, kinds[0], args[0], later), beside, width, write=True)
        add(j, _word(context, builder, kinds[0], args[0], j))


@emitted
def score_lanes(typingctx, c, column, coef, centre, slope, score):  # type: ignore[no-untyped-def]
    """Score `NARROW` topics from ``column`` on by Horner's scheme in u = (c - centre) slope; return the largest.

    ``c``, ``centre`` and ``slope`` are (kp,), ``coef`` (order + 1, kp) with the constant first, ``score`` (kp,) is
    filled. All in double precision. A score that is not a number is never the largest.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        column = args[1]
        dots, target = (_Row(context, builder, kinds[at], args[at], NARROW) for at in (0, 5))
        rows, origin, unit = (_Row(context, builder, kinds[at], args[at], NARROW) for at in (2, 3, 4))
        value = dots.load(dots.address(column))
        if kinds[0].dtype == types.float32:
            value = builder.fpext(value, rows.vector)
        u = builder.fmul(builder.fsub(value, origin.load(origin.address(column))), unit.load(unit.address(column)))
        with builder.goto_entry_block():
            total = builder.alloca(rows.vector)
        one = ir.Constant(column.type, 1)
        powers = builder.extract_value(context.make_array(kinds[2])(context, builder, args[2]).shape, 0)
        degree = builder.sub(powers, one)
        builder.store(rows.load(rows.at(degree, column)), total)
        with cgutils.for_range(builder, degree) as loop:
            power = builder.sub(builder.sub(degree, one), loop.index)
            product = builder.fmul(builder.load(total), u, flags=_FUSE)
            builder.store(builder.fadd(product, rows.load(rows.at(power, column)), flags=_FUSE), total)
        found = builder.load(total)
        target.store(found, target.address(column))
        return _emit_largest(builder, rows, found)

    return types.float64(c, types.intp, coef, centre, slope, score), emit


def _emit_largest(builder: Any, row: _Row, values: Any) -> Any:
    """Emit the largest of a vector of double precision; what is not a number is never the largest."""
    reduce = ir.FunctionType(row.scalar, [row.vector])
    name = f"llvm.vector.reduce.fmax.v{NARROW}f64"
    function = cgutils.get_or_insert_function(builder.module, reduce, name)  # type: ignore[no-untyped-call]
    return builder.call(function, [values])


@emitted
def largest(typingctx, score, column):  # type: ignore[no-untyped-def]
    """Return the largest of `NARROW` scores from ``column`` of ``score`` on."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        row = _Row(context, builder, signature.args[0], args[0], NARROW)
        return _emit_largest(builder, row, row.load(row.address(args[1])))

    return types.float64(score, types.intp), emit


@emitted
def reaching(typingctx, score, column, level):  # type: ignore[no-untyped-def]
    """Return which of `NARROW` scores from ``column`` of ``score`` on are at least ``level``, as bits of a number."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        row = _Row(context, builder, signature.args[0], args[0], NARROW)
        found = builder.fcmp_ordered(">=", row.load(row.address(args[1])), row.spread(args[2]))
        return builder.zext(builder.bitcast(found, ir.IntType(NARROW)), ir.IntType(64))

    return types.int64(score, types.intp, types.float64), emit


_LOG2_HIGH = float.fromhex("0x1.62e42feep-1")  # the first bits of log 2: its products with small integers are exact
_LOG2_LOW = 1.9082149292705877e-10  # the rest of log 2
_TO_INTEGER = 1.5 * 2.0**52
_TERMS = tuple(1.0 / math.factorial(power) for power in range(14))  # up to |r| = log(2) / 2 the next one is below 1e-17


@emitted
def exp_lanes(typingctx, score, column, best, beta, out):  # type: ignore[no-untyped-def]
    """out[column : column + NARROW] = exp(beta (score[column : column + NARROW] - best)), to the last digits.

    Returns their sum. ``score`` and ``out`` are (kp,) in double precision, ``beta`` is above 0. No score is above
    ``best``; exponents below -600 count as -600.
    """

    # exp(d) = 2^n exp(d - n log 2), a Taylor polynomial; n = round(d / log 2) are the last bits of d / log 2 + 1.5 2^52
    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        source, target = (_Row(context, builder, signature.args[at], args[at], NARROW) for at in (0, 4))
        whole = ir.VectorType(ir.IntType(64), NARROW)

        def spread(value: float) -> Any:
            return ir.Constant(source.vector, [value] * NARROW)

        def fused(a: Any, b: Any, c: Any) -> Any:
            return builder.fadd(builder.fmul(a, b, flags=_FUSE), c, flags=_FUSE)

        behind = builder.fsub(source.load(source.address(args[1])), source.spread(args[2]))
        behind = builder.fmul(behind, source.spread(args[3]))
        known = builder.fcmp_ordered(">", behind, spread(-600.0))
        behind = builder.select(known, behind, spread(-600.0))
        shifted = fused(behind, spread(1.0 / math.log(2.0)), spread(_TO_INTEGER))
        power = builder.fsub(shifted, spread(_TO_INTEGER))
        rest = fused(power, spread(-_LOG2_LOW), fused(power, spread(-_LOG2_HIGH), behind))
        found = spread(_TERMS[-1])
        for term in _TERMS[-2::-1]:
            found = fused(found, rest, spread(term))
        exponent = builder.add(builder.bitcast(shifted, whole), ir.Constant(whole, [1023] * NARROW))
        scale = builder.bitcast(builder.shl(exponent, ir.Constant(whole, [52] * NARROW)), source.vector)
        found = builder.fmul(found, scale)
        target.store(found, target.address(args[1]))
        return _emit_sum_of_lanes(builder, found)

    return types.float64(score, types.intp, types.float64, types.float64, out), emit


@emitted
def keep_lanes(typingctx, r, column, level):  # type: ignore[no-untyped-def]
    """Set those of `NARROW` numbers from ``column`` of ``r`` (kp,) on to 0 that are below ``level``; return the sum."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        row = _Row(context, builder, signature.args[0], args[0], NARROW)
        place = row.address(args[1])
        values = row.load(place)
        kept = builder.fcmp_ordered(">=", values, row.spread(args[2]))
        values = builder.select(kept, values, ir.Constant(row.vector, None))
        row.store(values, place)
        return _emit_sum_of_lanes(builder, values)

    return types.float64(r, types.intp, types.float64), emit


@emitted
def tally_lanes(typingctx, r, column, mass, nk, q):  # type: ignore[no-untyped-def]
    """Multiply `NARROW` numbers from ``column`` of ``r`` on by ``mass``; add them to ``nk``, their squares to ``q``.

    All three are (kp,) in double precision.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        source, sums, squares = (_Row(context, builder, signature.args[at], args[at], NARROW) for at in (0, 3, 4))
        values = builder.fmul(source.load(source.address(args[1])), source.spread(args[2]))
        source.store(values, source.address(args[1]))
        for row, added in ((sums, values), (squares, builder.fmul(values, values))):
            row.store(builder.fadd(row.load(row.address(args[1])), added, flags=_FUSE), row.address(args[1]))
        return context.get_dummy_value()

    return types.void(r, types.intp, types.float64, nk, q), emit


def _emit_sum_of_lanes(builder: Any, values: Any) -> Any:
    """Emit the sum of a vector's lanes, one half added to the other: in the same order on every machine."""
    index, width = ir.IntType(32), values.type.count
    while width > 1:
        width //= 2
        halves = (ir.Constant(ir.VectorType(index, width), list(range(at, at + width))) for at in (0, width))
        first, second = (builder.shuffle_vector(values, values, half) for half in halves)
        values = builder.fadd(first, second)
    return builder.extract_element(values, ir.Constant(index, 0))
