"""A compiled Newton step, safeguarded by a bracket, for roots of increasing functions."""

from __future__ import annotations

from numba import njit

_CLOSE = 1e-13  # relative step that is none


@njit(cache=True)
def newton_step(x: float, low: float, high: float, excess: float, slope: float) -> tuple[float, float, float, bool]:
    """Return the next guess, the bracket that is left, and whether the step was too small to matter; unchecked.

    Parameters
    ----------
    x : float
        A guess within the bracket.
    low, high : float
        Bounds of the root.
    excess, slope : float
        The function's value minus the wanted one, and its derivative, at ``x``.

    Notes
    -----
    A proposal outside of the bracket is replaced by the middle of the bracket.
    """
    if excess > 0.0:
        high = x
    else:
        low = x
    proposal = x - excess / slope
    if not low <= proposal <= high:
        proposal = 0.5 * (low + high)
    return proposal, low, high, abs(proposal - x) <= _CLOSE * abs(proposal)
