"""Fingerprints of a whole batch are those of each text."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.formats.error_fingerprint import LONGEST, fingerprint
from dashboards.pipeline.fields.error_groups import fingerprints

WORDS = (
    *("row 17", "0x1f", "1x1f", "10x20", "status 404", "STATUS: 200", "HTTP/1.1 503"),
    *(
        "http 99",
        "\u017ftatu\u017f 404",
        "12 Jan 2024",
        "2024-01-09T10:11:12Z",
        "10.0.0.1:80",
    ),
    *(
        "deadbeef1",
        "00000000",
        "ORDER12AB34",
        "sk_1aB2cD3eF4gH5iJ",
        "x-7f8a9b0c1d-ab1c2",
    ),
    *(
        "x-7f8a9b0c1d-ab1c2",
        '"id 4"',
        "'",
        "/var/log/7.txt",
        "C:\\a1\\b",
        "-1.5e10",
        "é٣4",
        "a@1f",
        "\n",
    ),
)
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=6)


@given(st.lists(TEXTS.map(" ".join) | st.text("0123456789abxXe.:-/ @é", max_size=30)))
@example(
    [
        "0" * LONGEST + "'",
        "'" + "7" * (LONGEST + 1),
        "\u017ftatu\u017f 404",
        "\u017ftatu\u017f 101",
    ]
)
@example(["status 404", "status 505", "0x1", "1x1", "0X2", "https://h/7"])
def test_each_text_has_its_own_fingerprint(texts: list[str]) -> None:
    found = fingerprints(pa.array(texts, pa.string())).to_pylist()

    assert found == [fingerprint(one).key if one else None for one in texts]


@pytest.mark.parametrize("texts", [[], [None], ["", None, "row 1", "row 2"]])
def test_no_error_has_no_fingerprint(texts: list[str | None]) -> None:
    found = fingerprints(pa.array(texts, pa.string())).to_pylist()

    assert found == [fingerprint(one).key if one else None for one in texts]
