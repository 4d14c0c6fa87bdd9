"""What the script of Dash may send to the live page's callbacks."""

from __future__ import annotations

from typing import Any

CALLS = {"newest": ("poll", "n_intervals"), "news": ("want", "data"), "answer": ("ask", "data")}
"""Stores that callbacks fill, and the component and property that each is called with."""


def is_call(body: object) -> bool:
    """Tell whether the body of a request calls one of `CALLS` as Dash does.

    Examples
    --------
    >>> output, given = {"id": "news", "property": "data"}, {"id": "want", "property": "data", "value": 1}
    >>> is_call({"output": "news.data", "outputs": output, "inputs": [given], "changedPropIds": ["want.data"]})
    True
    >>> is_call({"keys": 5})
    False
    """
    if not isinstance(body, dict) or not isinstance(body.get("outputs"), dict):
        return False
    filled, inputs = body["outputs"].get("id"), body.get("inputs")
    if not isinstance(filled, str) or filled not in CALLS or not isinstance(inputs, list):
        return False
    changed = body.get("changedPropIds", [])
    return (
        body["outputs"].get("property") == "data"
        and body.get("output") == f"{filled}.data"
        and len(inputs) == 1
        and isinstance(inputs[0], dict)
        and (inputs[0].get("id"), inputs[0].get("property")) == CALLS[filled]
        and isinstance(changed, list)
        and all(isinstance(one, str) for one in changed)
        and not body.get("state")
        and (filled != "answer" or _is_question(inputs[0].get("value")))
    )


def _is_question(asked: Any) -> bool:
    """Tell whether a page asks for figures: its number, the state that it shows, and keys."""
    return (
        isinstance(asked, dict)
        and isinstance(asked.get("id"), int)
        and isinstance(asked.get("stamp"), str)
        and isinstance(asked.get("keys"), list)
    )
