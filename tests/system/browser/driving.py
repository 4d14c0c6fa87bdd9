"""What browser tests do with a page: ask its script, press keys, click."""

from __future__ import annotations

from typing import Any

from tests.waiting import wait_for


def js(page: Any, code: str) -> Any:
    """Return what a script answers."""
    return page.execute_script(code)


UNPACKED = "document.querySelector('title') && !document.querySelector('script[data-type]')"
"""Whether all parts of an exported page are in their places; what is a script has run by then."""


def until(page: Any, condition: str) -> bool:
    """Wait for a condition as long as the page changes; answers whether it came true."""
    look = f"return [Boolean({condition}), document.getElementsByTagName('*').length]"
    try:
        wait_for(lambda: js(page, look), lambda seen: seen[0])
    except AssertionError:
        return False
    return True


def opened(
    page: Any, address: str, ready: str = UNPACKED, *, width: int = 1280, dark: bool = False, still: bool = True
) -> Any:
    """Open an address at a width, in a colour scheme, with or without movements, and wait until it is ready."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
    ]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.get("about:blank")
    page.get_log("browser")
    page.get(address)
    assert until(page, ready)
    return page


def date(page: Any) -> str:
    """Return the date under the cursor."""
    return str(js(page, "return document.querySelector('#time output').textContent"))


def topic(page: Any) -> str:
    """Return the name of the selected topic."""
    return str(js(page, "return document.querySelector('#facts div:last-child dt').textContent"))


def press(page: Any, *keys: str, shift: bool = False) -> None:
    """Press keys outside of any field."""
    for key in keys:
        event = f"{{key: {key!r}, shiftKey: {str(shift).lower()}, bubbles: true}}"
        js(page, f"document.body.dispatchEvent(new KeyboardEvent('keydown', {event}))")


def click(page: Any, selector: str) -> None:
    """Click the first element of a selector."""
    js(page, f"document.querySelector({selector!r}).click()")


def click_band(page: Any, x: float, y: float) -> None:
    """Click at a place of the river, in parts of its width and height."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    js(page, "document.querySelector('#river').scrollIntoView({block: 'center'})")
    river = page.find_element(By.ID, "river")
    box = river.size
    ActionChains(page).move_to_element_with_offset(
        river, int((x - 0.5) * box["width"]), int((y - 0.5) * box["height"])
    ).click().perform()
