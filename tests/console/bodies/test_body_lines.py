"""Lines of a body on a page: folded where they lie deep, and with colours."""

from __future__ import annotations

import json

import pytest
from selectolax.lexbor import LexborHTMLParser

from console.templatetags.console_bodies import lines
from tests.console.bodies.test_unpacking import whole


def test_what_lies_deep_is_folded_until_one_wants_it() -> None:
    deep = {"a": {"b": {"c": {"d": [1, 2, 3, 4]}, "short": {"x": 1}}}}
    made = whole(json.dumps(deep).encode(), "application/json")

    html = lines(made)

    before, _, after = html.partition("<details>")
    assert "&quot;b&quot;" in before
    assert "&quot;c&quot;" in after
    assert "6 lines" in after
    assert "short" in after.partition("</details>")[2]
    assert html.count("<details>") == 1


def test_xml_that_lies_deep_is_folded_too() -> None:
    deep = "<a><b><c><d><e>1</e><e>2</e><e>3</e></d><short/></c></b></a>"
    made = whole(deep.encode(), "application/xml")

    html = lines(made)

    before, _, after = html.partition("<details>")
    assert "&lt;c" in before
    assert "&lt;d" in after
    assert "short" in after.partition("</details>")[2]
    assert html.count("<details>") == 1
    assert html.count('class="line"') == len(made.lines)


@pytest.mark.parametrize(
    ("body", "kind", "keys", "texts", "numbers"),
    [
        (b'{"a": "b: <i>", "c": [-1.5, null]}', "json", ['"a"', '"c"'], ['"b: <i>"'],
         ["-1.5", "null"]),
        (b'<a b="c>"><d>"e" 7</d></a>', "xml", ["<a", ">", "<d", ">", "</d", ">", "</a",
         ">"], ['"c>"'], []),
    ],
)  # fmt: skip
def test_keys_texts_and_numbers_have_colours(
    body: bytes, kind: str, keys: list[str], texts: list[str], numbers: list[str]
) -> None:
    html = LexborHTMLParser(lines(whole(body, f"application/{kind}")))

    def of(name: str) -> list[str]:
        return [one.text() for one in html.css(f".syntax-{name}")]

    assert (of("key"), of("text"), of("number")) == (keys, texts, numbers)
    assert html.css("i") == []


def test_a_long_body_has_no_colours() -> None:
    body = json.dumps([{"a": n} for n in range(500)]).encode()

    assert "syntax-" not in lines(whole(body, "application/json"))
