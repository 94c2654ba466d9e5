"""What an Artemis has in its broker.xml is understood, or named, or refused."""

from __future__ import annotations

import copy
import re
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from broker.config.address_settings import merge
from broker.config.artemis_xml import read, unknown, write
from broker.config.documents import defined
from broker.errors.settings import WrongSettings
from broker.models import AddressSetting
from tests.broker.declarations.xml_walk import shortened

BROKER_XML = b"""<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<configuration xmlns="urn:activemq" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <core xmlns="urn:activemq:core">
    <name>0.0.0.0</name>
    <max-redelivery-records>10</max-redelivery-records>
    <address-settings>
      <!-- if you define auto-create on certain queues, management has to be created -->
      <address-setting match="activemq.management.#">
        <dead-letter-address>DLQ</dead-letter-address>
        <redelivery-delay>0</redelivery-delay>
        <max-size-bytes>-1</max-size-bytes>
        <address-full-policy>PAGE</address-full-policy>
      </address-setting>
      <address-setting match="#">
        <max-size-bytes>10M</max-size-bytes>
        <dead-letter-address> DLQ </dead-letter-address>
        <expiry-address/>
        <redelivery-delay>5000</redelivery-delay>
        <redelivery-delay-multiplier>1.5</redelivery-delay-multiplier>
        <redelivery-collision-avoidance-factor>0.15</redelivery-collision-avoidance-factor>
        <max-redelivery-delay>50000</max-redelivery-delay>
        <max-delivery-attempts>3</max-delivery-attempts>
        <send-to-dla-on-no-route>true</send-to-dla-on-no-route>
        <auto-create-dead-letter-resources>true</auto-create-dead-letter-resources>
        <dead-letter-queue-prefix></dead-letter-queue-prefix>
        <dead-letter-queue-suffix>.DLQ</dead-letter-queue-suffix>
        <auto-create-expiry-resources>false</auto-create-expiry-resources>
        <expiry-queue-prefix>EXPIRED.</expiry-queue-prefix>
        <expiry-queue-suffix/>
        <expiry-delay>-1</expiry-delay>
        <min-expiry-delay>10</min-expiry-delay>
        <max-expiry-delay>20</max-expiry-delay>
        <no-expiry>false</no-expiry>
        <auto-delete-queues-delay>7</auto-delete-queues-delay>
      </address-setting>
    </address-settings>
  </core>
</configuration>
"""
KEPT = {
    "dead_letter_address": "DLQ",
    "expiry_address": "",
    "redelivery_delay_ms": 5000,
    "redelivery_delay_multiplier": 1.5,
    "redelivery_collision_avoidance_factor": 0.15,
    "max_redelivery_delay_ms": 50000,
    "max_delivery_attempts": 3,
    "send_to_dla_on_no_route": True,
    "auto_create_dead_letter_resources": True,
    "dead_letter_queue_prefix": "",
    "dead_letter_queue_suffix": ".DLQ",
    "auto_create_expiry_resources": False,
    "expiry_queue_prefix": "EXPIRED.",
    "expiry_queue_suffix": "",
    "expiry_delay_ms": -1,
    "min_expiry_delay_ms": 10,
    "max_expiry_delay_ms": 20,
    "no_expiry": False,
    "auto_delete_queues_delay_ms": 7,
}


def one(inside: str, match: str = 'match="orders"') -> str:
    setting = f"<address-setting {match}>{inside}</address-setting>"
    return f"<address-settings>\n{setting}\n</address-settings>"


def fields(text: str | bytes) -> dict[str, dict[str, Any]]:
    return {setting.match: defined(setting) for setting in read(text).settings}


@pytest.mark.spec("REDEL-2", "DLA-1", "MATCH-5")
def test_a_whole_broker_xml_is_read_and_what_is_not_kept_is_named() -> None:
    document = read(BROKER_XML)

    assert fields(BROKER_XML) == {
        "activemq.management.#": {
            "dead_letter_address": "DLQ",
            "redelivery_delay_ms": 0,
        },
        "#": KEPT,
    }
    assert [(one.where, one.match, one.what) for one in document.left_out] == [
        ("line 4", "", "name, max-redelivery-records"),
        ("line 15", "#", "max-size-bytes"),
    ]


def test_the_namespace_and_what_stands_around_may_be_missing() -> None:
    bare = BROKER_XML.replace(b' xmlns="urn:activemq:core"', b"")
    bare = bare.replace(b' xmlns="urn:activemq"', b"")
    inner = bare[bare.index(b"<address-settings>") : bare.index(b"</core>")]

    assert fields(bare) == fields(inner) == fields(BROKER_XML)


@pytest.mark.spec("MATCH-5")
def test_an_empty_element_means_none_and_stops_the_fall_through() -> None:
    rules = [
        *read(
            one("<dead-letter-address>DLA</dead-letter-address>", 'match="#"')
        ).settings,
        *read(one("<dead-letter-address/>")).settings,
    ]

    assert merge("orders", rules).dead_letter_address == ""
    assert merge("others", rules).dead_letter_address == "DLA"


@pytest.mark.spec("REDEL-2", "MATCH-2", "DLA-1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<address-settings><x/></address-settings>", "Only <address-setting> can"),
        (one("", ""), "cannot be empty"),
        (one("", 'match="news.eu*"'), "a wildcard stands beside other characters"),
        (one("", 'match="a.#.b"'), "# can only be the last word"),
        (one("", 'match="${a}"'), "a system property, without a default"),
        (one("</address-setting><address-setting match='orders'>"), "above, which"),
        (one("<redelivery-delay>1s</redelivery-delay>"), "a whole number, not '1s'"),
        (one("<redelivery-delay/>"), "It must be a whole number"),
        (one("<redelivery-delay>-1</redelivery-delay>"), "Give 0 for none."),
        (one("<redelivery-delay>٣</redelivery-delay>"), "a whole number"),
        (one("<redelivery-delay>1_0</redelivery-delay>"), "a whole number"),
        (one("<redelivery-delay>${a}</redelivery-delay>"), "without a default"),
        (one("<max-delivery-attempts>-2</max-delivery-attempts>"), "-1 for no limit"),
        (
            one("<redelivery-delay-multiplier>NaN</redelivery-delay-multiplier>"),
            "It must be a number, not 'NaN'.",
        ),
        (
            one("<redelivery-delay-multiplier>1e999</redelivery-delay-multiplier>"),
            "must be above 0",
        ),
        (one("<no-expiry>yes</no-expiry>"), "It must be true or false, not 'yes'."),
        (one("<no-expiry>1</no-expiry>"), "It must be true or false, not '1'."),
        (one("<no-expiry/>"), "true or false"),
        (one("<expiry-address><b/></expiry-address>"), "It must have text only."),
        (
            one("<dead-letter-address>orders</dead-letter-address>"),
            "An address cannot be its own",
        ),
        (
            one("<new-thing>1</new-thing>"),
            "It is not known here; nothing was made of it. If it matters, set by hand",
        ),
    ],
)
def test_what_cannot_be_read_loses_itself_and_is_named(text: str, said: str) -> None:
    good = "<expiry-delay>5</expiry-delay></address-setting></address-settings>"
    text = text.replace("</address-setting>\n</address-settings>", good)

    document = read(text.encode())

    lost = [found for found in document.left_out if said in found.why]
    assert len(lost) == 1
    kept = [defined(found) for found in document.settings]
    assert kept in ([], [{"expiry_delay_ms": 5}], [{}, {}], [{}])


def test_a_placeholder_gives_its_default_and_says_so() -> None:
    text = one("<redelivery-delay>${a:${b:5000}}</redelivery-delay>")

    document = read(text)

    assert defined(document.settings[0]) == {"redelivery_delay_ms": 5000}
    assert "was read with its default, as '5000'" in document.left_out[0].why


def test_of_two_equal_elements_the_last_counts_as_there() -> None:
    document = read(one("<no-expiry>true</no-expiry><no-expiry>false</no-expiry>"))

    assert defined(document.settings[0]) == {"no_expiry": False}
    assert [found.what for found in document.left_out] == ["no-expiry"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<a>", "Line 1, column 4: This is no XML: no element found."),
        ("<a>\n</b>", "Line 2, column 3: This is no XML: mismatched tag."),
        ("<a/>", "There is no <address-settings> in it."),
        (one("", "") + "<x/>", "This is no XML: junk after document element."),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "entities or a document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "a document type"),
        ('<?xml version="1.0" encoding="x-none"?><a/>', "Use UTF-8."),
    ],
)
def test_a_malformed_document_is_refused_whole_with_its_place(
    text: str, said: str
) -> None:
    with pytest.raises(WrongSettings) as refused:
        read(text.encode())
    assert said in str(refused.value)


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    with pytest.raises(WrongSettings, match="above 100 levels deep"):
        read("<a>" * 100_000)
    with pytest.raises(WrongSettings, match="above 1 MiB"):
        read(" " * 2**20 + "<a/>")


def test_what_is_written_has_the_elements_of_artemis_and_says_what_it_lacks() -> None:
    setting = AddressSetting(
        match="a&b.#",
        max_delivery_attempts=-1,
        dead_letter_address="",
        no_expiry=True,
        poison_policy="both",
    )

    text = write([setting])

    assert '<address-settings xmlns="urn:activemq:core">' in text
    assert '<address-setting match="a&amp;b.#">' in text
    assert "<max-delivery-attempts>-1</max-delivery-attempts>" in text
    assert "<dead-letter-address />" in text
    assert "<no-expiry>true</no-expiry>" in text
    assert "<!-- Backout only: poison_policy = both -->" in text
    assert unknown([setting]) == [("a&b.#", "poison_policy")]


EVERYTHING = BROKER_XML.replace(
    b"</address-settings>",
    b"""<address-setting match="odd#"><expiry-delay>1</expiry-delay></address-setting>
      <address-setting match="a.b">
        <expiry-delay>${delay:5}</expiry-delay><min-expiry-delay>many</min-expiry-delay>
        <page-size-bytes>10M</page-size-bytes><unheard-of a="1"><b/></unheard-of>
        <no-expiry>true</no-expiry><no-expiry>false</no-expiry>
      </address-setting>
      <address-setting match="a.b"><no-expiry>true</no-expiry></address-setting>
      <stray/>
    </address-settings>""",
)


def said_of(root: Xml.Element) -> str:
    """What is read of a document, and what is said of it, without its lines."""
    try:
        document = read(Xml.tostring(root, encoding="unicode"))
    except WrongSettings as refused:
        return str(refused)
    kept = [(one.match, defined(one)) for one in document.settings]
    left = [str(one).replace(one.where, "") for one in document.left_out]
    return repr((kept, left))


def test_no_part_of_a_setting_vanishes_without_a_word() -> None:
    whole = Xml.fromstring(EVERYTHING)
    group = next(one for one in whole.iter() if one.tag.endswith("address-settings"))
    before = said_of(whole)

    silent = []
    for what, less in shortened(group):
        copied = copy.deepcopy(whole)
        parent = next(one for one in copied.iter() if group.tag in [c.tag for c in one])
        places = [number for number, one in enumerate(parent) if one.tag == group.tag]
        parent[places[0]] = less
        if said_of(copied) == before:
            silent.append(re.sub(r"\{.*?\}|\s+", "", what))

    assert silent == ["max-size-bytes-1", "address-full-policyPAGE"]
