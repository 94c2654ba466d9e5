"""Headers and descriptors as people read them, whatever their bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.mq_codes import Report
from broker.formats.mq.chain import chain_of, read_chain
from broker.formats.mq.describing import LONGEST, Section, describe, describe_descriptor
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.folders import Element, Folder
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from tests.broker.headers_drawn import DESCRIPTORS, FORMATS, NUMBERS


@pytest.mark.parametrize("format_", ["MQHRF", "MQCICS", "MQIMS", "MQHMDE", "MQXMIT"])
def test_a_header_that_is_not_known_ends_the_chain_and_is_shown_as_bytes(
    format_: str,
) -> None:
    chain = read_chain(format_, 273, 1208, bytes(range(20)))

    assert not chain.is_whole
    assert chain.error is None
    assert describe(chain) == [
        Section(
            f"{format_} (not decoded)",
            (
                ("000000", bytes(range(16)).hex(" ")),
                ("000010", bytes(range(16, 20)).hex(" ")),
            ),
        )
    ]


@pytest.mark.spec("MD-6")
def test_a_malformed_header_is_told_with_its_place_and_bytes() -> None:
    data = DeadLetterHeader(format="MQHRF2").to_bytes() + b"RHF and so on".ljust(40)

    chain = read_chain("MQDEAD", 273, 1208, data)
    dead, fault = describe(chain)

    assert chain.error is not None
    assert chain.error.reason == 2334
    assert dead.name == "MQDLH"
    assert fault.name == "Malformed header"
    assert fault.fields[0] == ("Fault", str(chain.error))
    assert fault.fields[1][0] == "0000ac"
    assert fault.fields[1][1].startswith("52 48 46 20")


@given(FORMATS | st.text(max_size=9), NUMBERS, NUMBERS, st.binary(max_size=400))
def test_any_bytes_can_be_looked_at(
    format_: str, encoding: int, ccsid: int, data: bytes
) -> None:
    for beginning in (
        b"",
        DeadLetterHeader().to_bytes(encoding),
        b"RFH " + bytes(7) + b"$",
    ):
        chain = read_chain(format_, encoding, ccsid, beginning + data)
        assert_is_text(describe(chain))


@given(
    st.dictionaries(
        st.text(max_size=9) | st.sampled_from(["format", "encoding"]),
        st.none() | NUMBERS | st.text(max_size=9),
    )
)
def test_any_stored_descriptor_can_be_looked_at(stored: dict[str, Any]) -> None:
    assert_is_text(describe(chain_of(stored, "text/plain", b"x")))


@given(DESCRIPTORS)
def test_any_descriptor_can_be_looked_at(descriptor: Descriptor) -> None:
    assert_is_text([describe_descriptor(descriptor)])


def assert_is_text(sections: list[Section]) -> None:
    for section in sections:
        for field, value in section.fields:
            assert (field + value).replace("\n", "").isprintable()
            (field + value).encode()
            assert len(value) <= LONGEST + 1


@pytest.mark.spec("UNIFY-6")
def test_codes_are_shown_with_their_names() -> None:
    dead = DeadLetterHeader(reason=2362, encoding=546, put_appl_type=28)
    shown = dict(describe(read_chain("MQDEAD", 273, 1208, dead.to_bytes()))[0].fields)
    assert shown["Reason"] == "2362 BACKOUT_THRESHOLD_REACHED"
    assert shown["Encoding"] == "546 little-endian"
    assert shown["CodedCharSetId"] == "1208 UTF_8"
    assert shown["PutApplType"] == "28 JAVA"


@pytest.mark.spec("MD-1", "MD-5")
def test_a_descriptor_is_shown_with_the_names_of_its_options() -> None:
    report = Report.EXCEPTION_WITH_DATA | Report.COA | Report.PASS_MSG_ID
    descriptor = Descriptor(
        report=report | Report.DISCARD_MSG | 1 << 20,
        msg_type=4,
        feedback=999,
        expiry=17,
    )

    shown = dict(describe_descriptor(descriptor).fields)

    number, *options = shown["Report"].replace(" +", "").split(" ")
    assert int(number) == descriptor.report
    assert set(options) == {
        *("EXCEPTION_WITH_DATA", "COA", "PASS_MSG_ID", "DISCARD_MSG", "0x100000"),
    }
    assert shown["MsgType"] == "4 REPORT"
    assert shown["Feedback"] == "999"
    assert shown["Expiry"] == "17 tenths of a second"
    assert len(shown) == 27


def test_properties_are_shown_with_the_names_of_their_groups() -> None:
    group = Element(
        "g", (Element("n", 17, "i4"), Element("t", value=True, dt="boolean"))
    )
    usr = Folder.of(
        "usr", group, Element("s", "a\nb"), Element("o", b"\xff", "bin.hex")
    )
    none = Folder.of("mq", Element("nil", None))
    header = Rfh2(
        encoding=273, coded_char_set_id=1208, format="MQSTR", folders=(usr, none)
    )

    (section,) = describe(read_chain("MQHRF2", 273, 1208, header.to_bytes()))

    assert section.fields[-5:] == (
        ("usr.g.n", "17"),
        ("usr.g.t", "true"),
        ("usr.s", "a\nb"),
        ("usr.o", "ff"),
        ("mq.nil", "(null)"),
    )


def test_of_very_many_properties_the_first_are_shown() -> None:
    many = Folder.of(
        "usr", *[Element("a", "x" * 2000)] * 400, *[Element("b", "")] * 400
    )
    header = Rfh2(encoding=273, coded_char_set_id=1208, format="", folders=(many,))

    (section,) = describe(read_chain("MQHRF2", 273, 1208, header.to_bytes()))

    assert len(section.fields) == 501
    assert section.fields[-1] == ("…", "and 305 more")
    assert len(section.fields[5][1]) == LONGEST + 1
