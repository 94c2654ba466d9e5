"""docs/acts.md says what is declared."""

from __future__ import annotations

from tests.tools.acts_page import PAGE, page


def test_the_page_of_acts_is_current() -> None:
    """If not, run ``python -m tests.tools.acts_page``."""
    assert PAGE.read_text() == page()
