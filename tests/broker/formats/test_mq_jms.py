"""What JMS keeps of a message in the folders of an RFH2."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.formats.mq.folders import LONGEST, MOST, Element, Folder
from broker.formats.mq.jms import folders_for_jms
from tests.make import NOON


def make_sent(**fields: Any) -> Any:
    """What a delivery says of a message, as far as JMS keeps it in folders."""
    defaults: dict[str, Any] = {
        "address": "ORDERS.IN",
        "priority": 4,
        "durable": True,
        "put_at": NOON,
        "expires_at": None,
        "reply_to": None,
        "correlation_id": None,
        "group_id": None,
        "subject": None,
        "content_type": "text/plain",
        "properties": {},
    }
    return SimpleNamespace(**defaults | fields)


def texts_of(folders: tuple[Folder, ...]) -> list[str]:
    return [folder.text for folder in folders]


@pytest.mark.spec("POISON-13")
def test_jms_says_what_it_knows_in_folders() -> None:
    """Source: IBM MQ documentation, "The MQRFH2 header and JMS"."""
    sent = make_sent(
        priority=7,
        durable=False,
        reply_to="ORDERS.REPLY",
        correlation_id="a<b",
        group_id="g",
        subject="order",
        expires_at=NOON,
        properties={
            "colour": "red",
            "express": True,
            "count": 17,
            "big": 2**40,
            "weight": 1.5,
            "nothing": None,
            "sizes": [1, 2],
        },
    )

    assert texts_of(folders_for_jms(sent)) == [
        "<mcd><Msd>jms_text</Msd><Type>order</Type></mcd>",
        "<jms><Dst>queue:///ORDERS.IN</Dst><Rto>queue:///ORDERS.REPLY</Rto><Pri>7</Pri>"
        "<Tms>1773489600000</Tms><Exp>1773489600000</Exp><Cid>a&lt;b</Cid><Dlv>1</Dlv>"
        "<Gid>g</Gid></jms>",
        '<usr><colour>red</colour><express dt="boolean">1</express>'
        '<count dt="i4">17</count><big dt="i8">1099511627776</big>'
        '<weight dt="r8">1.5</weight><nothing xsi:nil="true"></nothing>'
        "<sizes>[1, 2]</sizes></usr>",
    ]


def test_a_plain_message_of_bytes_says_little() -> None:
    sent = make_sent(content_type="application/octet-stream")
    assert texts_of(folders_for_jms(sent)) == [
        "<mcd><Msd>jms_bytes</Msd></mcd>",
        "<jms><Dst>queue:///ORDERS.IN</Dst><Tms>1773489600000</Tms><Dlv>2</Dlv></jms>",
    ]


def test_what_a_folder_cannot_carry_stays_out_of_it() -> None:
    sent = make_sent(
        subject="\x01",
        properties={"a b": 1, "c": "\x02", "d": 3, "e": 2**70, "f": "x" * LONGEST},
    )
    mcd, _, usr = texts_of(folders_for_jms(sent))
    assert mcd == "<mcd><Msd>jms_text</Msd></mcd>"
    assert usr == f'<usr><d dt="i4">3</d><e>{2**70}</e></usr>'


def test_more_properties_than_a_folder_holds_do_no_harm() -> None:
    many = {f"p{number}": number for number in range(MOST + 5)}
    *_, usr = folders_for_jms(make_sent(properties=many))
    assert usr.root.value is not None
    assert len(usr.root.value) == MOST - 1  # type: ignore[arg-type]


def test_longer_properties_than_a_folder_holds_do_no_harm() -> None:
    half = "x" * (LONGEST // 2)
    *_, usr = folders_for_jms(make_sent(properties={"a": half, "b": half, "c": 1}))
    assert usr.root.value == (Element("a", half), Element("c", 1, "i4"))


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=2),
            max_leaves=3,
        ),
        max_size=4,
    ),
    st.text(max_size=5),
)
def test_folders_of_any_message_can_be_read(
    properties: dict[str, Any], text: str
) -> None:
    sent = make_sent(properties=properties, reply_to=text, subject=text)
    for folder in folders_for_jms(sent):
        assert repr(Folder.parse(folder.text).root) == repr(folder.root)
