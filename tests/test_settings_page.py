"""docs/settings.md says what the code has."""

from __future__ import annotations

from tests.tools.settings_page import PAGE, page


def test_the_page_of_settings_is_current() -> None:
    """If not, run ``python -m tests.tools.settings_page``."""
    assert PAGE.read_text() == page()
