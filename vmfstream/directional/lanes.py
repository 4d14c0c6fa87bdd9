"""Row operations on 16 or 32 topics at a time, kept in vector registers.

A document's scores are a sum of rows of the matrix of means, one row a word. Written as a loop over topics inside a
loop over words, the running sums go through memory once a word; here the loop over words is emitted with the sums in
registers, which is several times faster and compiles in a fraction of the time that written-out scalars need.

``numba`` does not see changes of this file when it looks up compiled callers in its cache: after an edit, delete
``__pycache__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

NARROW = 16
WIDE = 32

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

    def data_address(self) -> Any:
        return self.builder.bitcast(self.data, self.vector.as_pointer())

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


def _element(context: Any, builder: Any, kind: Any, value: Any, position: Any) -> Any:
    array = context.make_array(kind)(context, builder, value)
    return builder.load(builder.gep(array.data, [position]))


def _word(context: Any, builder: Any, kind: Any, value: Any, position: Any) -> Any:
    """Load a word's number and widen it to the type of an index."""
    word = _element(context, builder, kind, value, position)
    return context.cast(builder, word, kind.dtype, types.intp)


def _make_dot(width: int) -> Callable[..., None]:
    @intrinsic
    def dot(typingctx, indices, data, start, stop, m, column, out):  # type: ignore[no-untyped-def]
        """out[column : column + width] = sum_j data[j] m[indices[j], column : column + width], start <= j < stop."""

        def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
            row = _Row(context, builder, signature.args[4], args[4], width)
            target = _Row(context, builder, signature.args[6], args[6], width)
            with builder.goto_entry_block():  # only there does the optimiser turn it into a register
                total = builder.alloca(row.vector)
            builder.store(ir.Constant(row.vector, None), total)
            with cgutils.for_range_slice(builder, args[2], args[3], ir.Constant(args[2].type, 1), args[2].type) as (
                j,
                _,
            ):
                word = _word(context, builder, signature.args[0], args[0], j)
                value = row.spread(_element(context, builder, signature.args[1], args[1], j))
                product = builder.fmul(value, row.load(row.at(word, args[5])), flags=_FUSE)
                builder.store(builder.fadd(builder.load(total), product, flags=_FUSE), total)
            target.store(builder.load(total), target.address(args[5]))
            return context.get_dummy_value()

        return types.void(indices, data, types.intp, types.intp, m, types.intp, out), emit

    return dot


def _make_scatter(width: int) -> Callable[..., None]:
    @intrinsic
    def scatter(typingctx, indices, data, start, stop, s, column, weight):  # type: ignore[no-untyped-def]
        """s[indices[j], column : column + width] += data[j] weight[column : column + width], start <= j < stop."""

        def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
            row = _Row(context, builder, signature.args[4], args[4], width)
            source = _Row(context, builder, signature.args[6], args[6], width)
            weights = source.load(source.address(args[5]))
            with cgutils.for_range_slice(builder, args[2], args[3], ir.Constant(args[2].type, 1), args[2].type) as (
                j,
                _,
            ):
                word = _word(context, builder, signature.args[0], args[0], j)
                value = row.spread(_element(context, builder, signature.args[1], args[1], j))
                place = row.at(word, args[5])
                product = builder.fmul(value, weights, flags=_FUSE)
                row.store(builder.fadd(row.load(place), product, flags=_FUSE), place)
            return context.get_dummy_value()

        return types.void(indices, data, types.intp, types.intp, s, types.intp, weight), emit

    return scatter


def _make_score(width: int) -> Callable[..., None]:
    @intrinsic
    def score_lanes(typingctx, c, column, coef, centre, slope, score, best):  # type: ignore[no-untyped-def]
        """Score ``width`` topics by Horner's scheme in u = (c - centre) slope, and let best = max(best, score).

        All in double precision; ``best`` has as many values. A score that is not a number is never the largest.
        """

        def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
            kinds = signature.args
            column = args[1]
            dots, target = (_Row(context, builder, kinds[at], args[at], width) for at in (0, 5))
            rows, origin, unit, largest = (_Row(context, builder, kinds[at], args[at], width) for at in (2, 3, 4, 6))
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
            held = largest.load(largest.data_address())
            larger = builder.fcmp_ordered(">", found, held)
            largest.store(builder.select(larger, found, held), largest.data_address())
            return context.get_dummy_value()

        return types.void(c, types.intp, coef, centre, slope, score, best), emit

    return score_lanes


dot_narrow = _make_dot(NARROW)
dot_wide = _make_dot(WIDE)
scatter_narrow = _make_scatter(NARROW)
score_narrow = _make_score(NARROW)
