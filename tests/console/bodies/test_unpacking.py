"""What bodies are wrapped in is taken off, within bounds, and what was done is said."""

from __future__ import annotations

import base64
import gzip
import json
import random
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.urls import reverse
from hypothesis import example, given
from hypothesis import strategies as st

from broker.amqp.messages.envelope import content_encoding, sealed
from broker.amqp.protocol.sections import PROPERTIES, Properties, encode_section
from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from broker.queueing.put import put
from console.bodies.decompress import COUNTED, ENCODINGS, KEPT, MEMBERS
from console.bodies.viewers import LAID_OUT, SHOWN, VIEWERS, BodyView, choices, show
from console.templatetags.console_bodies import lines
from tests.console.conftest import SignIn
from tests.make import make_queue

gzipped = partial(gzip.compress, mtime=0)  # each run collects the same tests
JSON = b'{"a":[1,2]}'
PRETTY = '{\n  "a": [\n    1,\n    2\n  ]\n}'
HEADER = Rfh2(
    encoding=Enc.NORMAL, coded_char_set_id=Ccsid.UTF_8, format="MQSTR"
).to_bytes()
SMALL = 12 * 2**20  # bytes of memory, for what is bounded at half as much and its text


def whole(body: bytes, content_type: str = "", **said: Any) -> BodyView:
    return show(body[:LAID_OUT], len(body), content_type, **said)


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "chain", "notice"),
    [
        (gzipped(JSON), "", "", "gzip → JSON, indented", ""),
        (gzipped(JSON), "application/gzip", "", "gzip → JSON, indented", ""),
        (gzipped(JSON), "application/json", "gzip", "gzip → JSON, indented", ""),
        (
            gzipped(JSON),
            "application/json",
            "",
            "gzip → JSON, indented",
            "which its sender did not say",
        ),
        (zlib.compress(JSON), "", "", "zlib → JSON, indented", ""),
        (zlib.compress(JSON), "text/json", "deflate", "zlib → JSON, indented", ""),
        (zlib.compress(JSON)[2:-4], "", "deflate", "deflate → JSON, indented", ""),
        (base64.b64encode(gzipped(JSON)), "", "", "base64 → gzip → JSON, indented", ""),
        (
            base64.b64encode(gzipped(JSON)),
            "application/json",
            "gzip, base64",
            "base64 → gzip → JSON, indented",
            "",
        ),
        (base64.b64encode(JSON * 3), "text/plain", "", "as text", ""),
        (JSON, "application/json", "identity", "JSON, indented", ""),
        (JSON, "application/json", "gzip", "JSON, indented", "but it is no gzip"),
        (JSON, "application/json", "br", "JSON, indented", "not unpacked here"),
        (b"x^2 + y = 1, and so on", "", "", "as text", ""),
        (b"abcdefghijklmnopqrstuvwxyz12", "", "", "as text", ""),
        (b"123456789012345678901234", "", "", "as text", ""),
        (HEADER + JSON, "", "", "MQRFH2 → JSON, indented", ""),
    ],
)
def test_what_is_taken_off_is_said(
    body: bytes, content_type: str, encoding: str, chain: str, notice: str
) -> None:
    made = whole(body, content_type, encoding=encoding)

    assert made.chain == chain
    assert notice in made.notice
    assert bool(made.notice) == bool(notice)


def test_sizes_are_those_of_each_layer() -> None:
    body = gzipped(JSON * 50_000)
    packed = base64.b64encode(body)

    made = whole(packed)

    assert [layer.size for layer in made.layers] == [len(body), len(JSON) * 50_000]


@pytest.mark.parametrize("encoding", [Enc.NORMAL, Enc.REVERSED])
def test_headers_of_ibm_mq_within_a_body_are_read(encoding: Enc) -> None:
    letter = DeadLetterHeader(
        reason=2053,
        dest_q_name="payments",
        encoding=encoding,
        format=Format.RF_HEADER_2,
    )
    header = Rfh2(encoding=encoding, coded_char_set_id=1208, format="MQSTR")
    body = letter.to_bytes(encoding) + header.to_bytes(encoding) + JSON

    made = whole(body)

    assert made.chain == "MQDLH, MQRFH2 → JSON, indented"
    assert "  Reason = 2053 Q_FULL" in made.text
    assert "  DestQName = payments" in made.text
    assert made.text.endswith(PRETTY)


@pytest.mark.parametrize("body", [b"RFH is short for something", b"DLH ", b"RFH \0\0"])
def test_what_only_begins_like_a_header_is_shown_as_it_is(body: bytes) -> None:
    assert whole(body).layers == ()


def test_a_member_after_the_other_is_one_body() -> None:
    made = whole(b"".join(gzipped(part) for part in (b'{"a":', b"[1,2]", b"}")))

    assert made.text == PRETTY


@pytest.mark.parametrize(
    ("damage", "notice"),
    [
        (lambda body: body[: len(body) // 2], "ends too early"),
        (lambda body: body[:-6] + b"\0" * 6, "is damaged after"),
    ],
)
def test_of_what_is_damaged_the_beginning_is_shown(
    damage: Callable[[bytes], bytes], notice: str
) -> None:
    text = " ".join(map(str, range(10_000))).encode()

    made = whole(damage(gzipped(text)), "application/gzip")

    assert made.text.startswith("0 1 2 3 4 5 6")
    assert notice in made.notice
    assert "too long" not in made.notice


def test_of_a_long_packed_body_the_beginning_is_read() -> None:
    noise = random.Random(7).randbytes(2 * LAID_OUT).hex().encode()
    body = gzipped(b"#" + noise)
    assert len(body) > LAID_OUT

    made = whole(body, "text/plain", encoding="gzip")

    assert made.text.startswith("#" + noise[:9].decode())
    assert made.is_cut
    assert made.layers[0].size is None
    assert made.notice.startswith("It is too long")


BOMB = zlib.compress(bytes(COUNTED), 9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        gzipped(bytes(2 * COUNTED)),
        gzipped(gzipped(bytes(COUNTED))),
        gzipped(b"") * (LAID_OUT // 20),
        base64.b64encode(BOMB),
        BOMB,
        gzipped(b"[" * COUNTED),
        gzipped(b" " * (KEPT - 2) + b"[]"),
        b"[" * LAID_OUT,
        b"<a>" + b"<b>x</b>" * (LAID_OUT // 8 - 2) + b"</a>",
        base64.b64encode(base64.b64encode(b"A" * (LAID_OUT // 2))),
    ],
    ids=len,
)
@pytest.mark.parametrize("wanted", ["", "gzip", "base64", "json", "text", "hex"])
def test_what_grows_without_end_is_unpacked_no_further(
    body: bytes, wanted: str
) -> None:
    tracemalloc.start()
    made = whole(body, wanted=wanted)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(made.text) <= 6 * SHOWN
    assert all((layer.size or 0) <= COUNTED + KEPT for layer in made.layers)
    assert peak < SMALL


def test_a_bomb_is_called_one() -> None:
    made = whole(gzipped(bytes(COUNTED)))

    assert "It grows more than 250 times" in made.notice
    assert made.layers[0].size is None


def test_members_beyond_some_are_left() -> None:
    made = whole(gzipped(b"x") * (MEMBERS + 5))

    assert made.text == "x" * MEMBERS


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "undefined"])
def test_what_is_no_character_set_is_not_read_as_one(name: str) -> None:
    """Reading punycode takes time that grows with the square of its length."""
    body = b"a-" + b"b" * (LAID_OUT - 2)

    made = whole(body, f"text/plain; charset={name}")

    assert "is no character set" in made.notice
    assert made.text.startswith("a-bbb")


@pytest.mark.parametrize(
    ("wanted", "body", "chain", "begins", "notice"),
    [
        ("hex", JSON, "as bytes", "00000000 | 7b 22 61", ""),
        ("hex", gzipped(JSON), "as bytes", "00000000 | 1f 8b 08", ""),
        ("text", JSON, "as text", '{"a":[1,2]}', ""),
        ("text", b"\xffa", "as text", "\\xffa", "no UTF-8"),
        ("json", gzipped(JSON), "gzip → JSON, indented", '{\n  "a"', ""),
        ("json", b"<a/>", "XML, indented", "<a/>", "cannot be shown as json"),
        ("xml", b"<a><b/></a>", "XML, indented", "<a>\n", ""),
        ("base64", base64.b64encode(b"hi"), "base64 → as text", "hi", ""),
        ("base64", JSON, "JSON, indented", "{\n", "other characters than base64"),
        ("gzip", JSON, "JSON, indented", "{\n", "it is no gzip"),
        ("nothing of ours", JSON, "JSON, indented", "{\n", ""),
    ],
)
def test_a_person_may_take_it_for_something_else(
    wanted: str, body: bytes, chain: str, begins: str, notice: str
) -> None:
    made = whole(body, wanted=wanted)

    assert made.chain == chain
    assert made.text.startswith(begins)
    assert notice in made.notice
    assert bool(made.notice) == bool(notice)


Packer = Callable[[bytes], bytes]
PACKERS: list[Packer] = [
    gzip.compress,
    zlib.compress,
    base64.b64encode,
    lambda body: HEADER + body,
]
WRAPPED = st.builds(
    lambda body, packers: wrapped(body, packers),
    st.binary(max_size=400),
    st.lists(st.sampled_from(PACKERS), max_size=5),
)


def wrapped(body: bytes, packers: list[Packer]) -> bytes:
    for packer in packers:
        body = packer(body)
    return body


@given(
    body=WRAPPED | st.binary(max_size=400),
    cut=st.integers(0, 40),
    content_type=st.sampled_from([*VIEWERS, *ENCODINGS]) | st.text(max_size=40),
    encoding=st.lists(st.sampled_from([*ENCODINGS, "br", ""])).map(",".join)
    | st.text(max_size=20),
    wanted=st.sampled_from(["", *choices()]) | st.text(max_size=5),
)
@example(b"\x08\x1d\0", 0, "", "", "")
@example(gzipped(b""), 0, "", "", "")
def test_anything_is_shown(
    body: bytes, cut: int, content_type: str, encoding: str, wanted: str
) -> None:
    body = body[: len(body) - cut]

    for size in (len(body), len(body) + 1):
        made = show(body, size, content_type, encoding=encoding, wanted=wanted)

        assert isinstance(lines(made), str)
        assert made.chain.endswith(made.done)
        assert len(made.text) <= 6 * SHOWN


@given(
    st.recursive(
        st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_folding_loses_no_line(value: object) -> None:
    made = whole(json.dumps(value).encode(), "application/json")

    html = lines(made)

    assert html.count('class="line"') == len(made.lines)
    assert html.count("<details>") == html.count("</details>")
    for number in range(1, len(made.lines) + 1):
        assert f'data-number="{number}"' in html


@pytest.mark.parametrize("said", ["gzip", None])
def test_what_a_client_says_of_its_encoding_is_read(said: str | None) -> None:
    properties = encode_section(PROPERTIES, Properties(content_encoding=said))
    stored = sealed([properties, b"\0\x53\x75\xb0\0\0\1\0"], b"", None)

    assert content_encoding(stored) == (said or "")


def test_the_page_says_what_was_done_and_offers_other_ways(sign_in: SignIn) -> None:
    make_queue()
    body = gzipped(JSON)
    put("orders", body, properties={"Content-Encoding": "gzip"})
    message_id = put("orders", body, content_type="application/json").message_id
    client = sign_in("operator")
    path = reverse("console:message", args=[message_id])

    html = client.get(path).content.decode()
    as_bytes = client.get(path, {"as": "hex"}).content.decode()

    assert "gzip → JSON, indented" in html
    assert f"{len(body)} B → {len(JSON)} B" in html
    assert "which its sender did not say" in html
    assert 'href="?as=hex#body"' in html
    assert "1f 8b 08" in as_bytes
    assert 'href="?as=hex#body" aria-current="true"' in as_bytes
