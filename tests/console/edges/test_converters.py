"""Names of queues in URLs: any name, one spelling, and nothing else is a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.edges.web.converters import QueueName

spelling = QueueName()
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(names)
@example(".")
@example("..")
@example("a/b")
@example("~2E")
def test_every_name_comes_back_from_its_spelling(name: str) -> None:
    url = spelling.to_url(name)

    assert re.fullmatch(spelling.regex, url)
    assert url not in (".", "..")
    assert spelling.to_python(url) == name


def test_common_names_are_spelled_as_they_are() -> None:
    assert spelling.to_url("payments.capture_v2-eu") == "payments.capture_v2-eu"


@pytest.mark.parametrize("url", ["~41", "~FF", "~00", "..", "~C3"])
def test_a_second_spelling_and_what_is_no_text_are_no_names(url: str) -> None:
    with pytest.raises(ValueError, match=r"spelling|decode"):
        spelling.to_python(url)
