"""All labels of the console stand in one list, which is read like a page."""

from __future__ import annotations

import pytest

from tests.tools import labels


@pytest.mark.thorough
def test_each_label_is_in_the_list() -> None:
    """`python -m tests.tools.labels` writes it; read the lines that are new."""
    listed = labels.PAGE.read_text().splitlines()
    found = labels.labels()

    assert sorted({*found} - {*listed}) == []
    assert sorted({*listed} - {*found}) == []


def test_what_depends_on_something_stands_in_brackets() -> None:
    source = "<p>To {{ to }}{% if n %} by {% moment at %}{% else %} now{% endif %}.</p>"

    reader = labels.Reader()
    reader.feed(labels.TAG.sub(labels.written, source))
    reader.close()

    assert reader.found == ["To …[ by …| now]."]
