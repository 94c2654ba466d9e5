"""Each part of a broker.xml is taken over, or named; and nothing else is made."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.artemis_elements import FIELDS, OTHERS
from broker.declarations import apply, plan, read
from broker.declarations.converters import artemis_core, artemis_queues, convert
from broker.errors.settings import WrongSettings
from broker.models import Address, AddressSetting, Queue, RoutingType
from tests.broker.declarations import xml_walk

WHOLE = """<?xml version="1.0"?>
<!-- says nothing -->
<configuration xmlns="urn:activemq" xmlns:xi="http://www.w3.org/2001/XInclude"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="urn:activemq /schema/artemis-configuration.xsd">
<jms xmlns="urn:activemq:jms">
  <jmx-domain>shop</jmx-domain>
  <queue name="returns"><selector string="JMSPriority > 3"/><durable>false</durable></queue>
  <topic name="prices"/>
</jms>
<core xmlns="urn:activemq:core">
  <name>shop</name>
  <xi:include href="rights.xml"/>
  <transaction-timeout>60000</transaction-timeout>
  <max-redelivery-records>10</max-redelivery-records>
  <message-expiry-scan-period>${scan:5000}</message-expiry-scan-period>
  <persistence-enabled>true</persistence-enabled>
  <journal-type>NIO</journal-type>
  <paging-directory>data/paging</paging-directory>
  <cluster-user>admin</cluster-user>
  <cluster-password>hunter2</cluster-password>
  <future-thing mode="fast">7</future-thing>
  <acceptors>
    <acceptor name="amqp">tcp://0.0.0.0:5672?protocols=AMQP;keyStorePassword=hunter2</acceptor>
    <acceptor name="old">tcp://0.0.0.0:61616?anycastPrefix=jms.queue.</acceptor>
  </acceptors>
  <connectors><connector name="other">tcp://admin:hunter2@other:61616</connector></connectors>
  <diverts><divert name="audit"><address>orders</address>
    <forwarding-address>audit</forwarding-address><filter string="a = 1"/>
    <exclusive>false</exclusive></divert></diverts>
  <bridges><bridge name="out"><queue-name>orders</queue-name>
    <static-connectors><connector-ref>other</connector-ref></static-connectors></bridge></bridges>
  <broker-connections>
    <amqp-connection uri="tcp://far:5672" name="far" retry-interval="100">
      <mirror durable="true"/><sender address-match="out.#"/><receiver address-match="in"/>
      <peer queue-name="both"/>
      <federation><local-queue-policy name="f"><include queue-match="#"/></local-queue-policy></federation>
    </amqp-connection>
  </broker-connections>
  <federations><federation name="eu"><upstream name="u"/></federation></federations>
  <cluster-connections><cluster-connection name="c"><address>jms</address></cluster-connection></cluster-connections>
  <queues>
    <queue name="stock"><address>goods</address><filter string="AMQPriority > 3"/></queue>
    <queue name="alone"/>
  </queues>
  <addresses>
    <address name="orders">
      <anycast>
        <queue name="orders" max-consumers="1" purge-on-no-consumers="true" exclusive="true"
            last-value="true" ring-size="9" group-buckets="4" enabled="false">
          <filter string="region = 'north'"/><durable>false</durable><user>bill</user>
        </queue>
      </anycast>
      <queue name="nowhere"/>
    </address>
    <address name="news"><multicast/></address>
    <address name="${dlq:DLQ}"><anycast><queue name="DLQ" max-consumers="-1"/></anycast></address>
    <address name="lost-${side}"><anycast><queue name="lost"/></anycast></address>
    <address name="odd"><anycast><queue name="odd"><filter string="AMQSize > 5"/></queue></anycast></address>
  </addresses>
  <wildcard-addresses><routing-enabled>true</routing-enabled><any-words>></any-words></wildcard-addresses>
  <address-settings>
    <address-setting match=">">
      <dead-letter-address>DLQ</dead-letter-address>
      <redelivery-delay>${delay:5000}</redelivery-delay>
      <expiry-delay>${expiry}</expiry-delay>
      <max-delivery-attempts>many</max-delivery-attempts>
      <redelivery-delay-multiplier>2</redelivery-delay-multiplier>
      <address-full-policy>BLOCK</address-full-policy>
      <max-size-bytes>-1</max-size-bytes>
      <auto-create-queues>true</auto-create-queues>
      <default-last-value-queue>true</default-last-value-queue>
      <no-expiry>false</no-expiry>
      <no-expiry>true</no-expiry>
      <new-element>1</new-element>
    </address-setting>
    <address-setting match=">"><redelivery-delay>7</redelivery-delay></address-setting>
    <address-setting match="activemq.management>"><redelivery-delay>8</redelivery-delay></address-setting>
  </address-settings>
  <security-settings>
    <role-mapping from="cn=shop" to="shop"/>
    <security-setting match="orders.>">
      <permission type="send" roles="shop, desk"/><permission type="consume" roles="shop"/>
      <permission type="createAddress" roles="shop"/>
    </security-setting>
    <security-setting match="#"><permission type="manage" roles="admin"/></security-setting>
    <security-setting-plugin class-name="Ldap"><setting name="initialContextFactory" value="x"/></security-setting-plugin>
  </security-settings>
  <broker-plugins><broker-plugin class-name="Logging"><property key="ALL" value="true"/></broker-plugin></broker-plugins>
</core></configuration>"""  # noqa: E501


def core(inside: str) -> str:
    return f"<configuration><core>{inside}</core></configuration>"


def settings(inside: str, match: str = "orders") -> str:
    setting = f'<address-setting match="{match}">{inside}</address-setting>'
    return core(f"<address-settings>{setting}</address-settings>")


def comments(text: str) -> str:
    return "\n".join(one for one in text.splitlines() if one.startswith("#"))


def test_each_part_is_counted_once_as_a_walk_counts_them() -> None:
    found = xml_walk.of("artemis", WHOLE)

    counts = found.parts.counts
    assert counts.read == xml_walk.parts(Xml.fromstring(WHOLE))
    assert counts.read == counts.taken + counts.named + counts.defaults
    assert min(counts.taken, counts.named, counts.defaults) > 0


def test_no_part_vanishes_without_a_word() -> None:
    """Whatever is taken out of the file changes what comes of it, unless it says what
    is so anyway."""
    whole = Xml.fromstring(WHOLE)
    text = xml_walk.toml("artemis", whole)

    silent = [
        what
        for what, less in xml_walk.shortened(whole)
        if xml_walk.toml("artemis", less) == text
    ]

    assert [re.sub(r"\{.*?\}|\s+", "", one) for one in silent] == [
        "schemaLocationofconfiguration",
        "max-redelivery-records10",
        "persistence-enabledtrue",
        "multicastNone",
        "max-consumersofqueue",
        "max-size-bytes-1",
    ]


@pytest.mark.django_db
def test_what_is_made_is_in_the_file_and_nothing_else() -> None:
    text = convert("artemis", WHOLE.encode(), source="broker.xml")
    declared, _ = read(text)
    apply(plan(declared))

    assert plan(declared).changes == []
    queues = Queue.objects.values_list("name", "address__name", "selector")
    assert set(queues) == {
        ("returns", "returns", "JMSPriority > 3"),
        ("stock", "goods", "JMSPriority > 3"),
        ("alone", "alone", ""),
        ("orders", "orders", "region = 'north'"),
        ("DLQ", "DLQ", ""),
        ("odd", "odd", ""),
    }
    names = set(Address.objects.values_list("name", flat=True))
    assert names == {one for _, one, _ in queues} | {"prices", "news"}
    setting = AddressSetting.objects.get()
    assert (setting.match, setting.dead_letter_address) == ("#", "DLQ")
    assert (setting.redelivery_delay_ms, setting.no_expiry) == (5000, True)
    assert (setting.expiry_delay_ms, setting.max_delivery_attempts) == (None, None)
    routed = dict(Queue.objects.values_list("name", "routing_type"))
    assert {name for name, kind in routed.items() if kind == RoutingType.MULTICAST} == {
        "stock",
        "alone",
    }


@pytest.mark.parametrize(
    "said",
    [
        '<queue> max-consumers="1"',
        "<durable> false: It does not survive a restart there; here it does.",
        "${delay:5000} was read with its default, as '5000'.",
        "<expiry-delay> ${expiry}: The value comes from a system property",
        "It must be a whole number, not 'many'.",
        "There is a setting of # above, which counts there.",
        "In 'management>' a wildcard stands beside other characters",
        'set BROKER_WILDCARD_ANY_WORDS = ">"',
        'Set BROKER_NAME = "shop"',
        "Set BROKER_TRANSACTION_TIMEOUT_S = 60 ",
        "Set BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = 5.0 ",
        '<divert> name="audit", address (orders), forwarding-address (audit)',
        '<bridge> name="out", queue-name (orders)',
        '<sender> address-match="out.#";',
        "There is no header AMQSize here.",
        '<include> href="rights.xml": A file is included here',
        '[authorities."group:cn=shop"]',
        '"orders.#" = ["get", "inquire", "put"]',
        '<future-thing> mode="fast", 7: future-thing is not known here; nothing was'
        " made of it. If it matters, set by hand what comes nearest to it.",
        "Artemis reads a queue in <anycast> or <multicast> only.",
        "keyStorePassword=…",
    ],
)
def test_what_has_no_equal_is_named_with_what_to_do(said: str) -> None:
    assert said in comments(convert("artemis", WHOLE.encode(), source="broker.xml"))


def test_passwords_are_not_written() -> None:
    assert "hunter2" not in convert("artemis", WHOLE.encode(), source="broker.xml")


def test_jms_names_have_the_prefixes_that_the_core_of_the_file_uses() -> None:
    old = (
        '<configuration><jms><queue name="orders"/><topic name="news"/></jms>'
        '<core><address-settings><address-setting match="jms.queue.#">'
        "<dead-letter-address>jms.queue.DLQ</dead-letter-address></address-setting>"
        "</address-settings></core></configuration>"
    )
    keys = {key for _, (key,) in xml_walk.of("artemis", old).objects}
    plain = old.replace("jms.queue.", "")
    short = {key for _, (key,) in xml_walk.of("artemis", plain).objects}

    assert keys == {"jms.queue.orders", "jms.topic.news", "jms.queue.#"}
    assert short == {"orders", "news", "#"}


def test_a_delimiter_that_is_not_ours_loses_the_patterns_that_need_it() -> None:
    wild = "<wildcard-addresses><delimiter>/</delimiter></wildcard-addresses>"
    text = settings("<redelivery-delay>5</redelivery-delay>", "a/#")
    text = text.replace("<core>", f"<core>{wild}")

    found = xml_walk.of("artemis", text)

    assert not found.objects
    assert any("Set BROKER_WILDCARD_DELIMITER = '/'" in one for one in found.comments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<project><modelVersion>4</modelVersion></project>", "its root is <project>"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "c">]><core>&b;</core>', "entities"),
        ("<core>" + "<a>" * 200 + "</a>" * 200 + "</core>", "levels deep"),
    ],
)
def test_a_file_of_another_kind_or_a_hostile_one_is_refused(
    text: str, said: str
) -> None:
    with pytest.raises(WrongSettings, match=said):
        convert("artemis", text.encode(), source="file")


NAMES = [
    *("configuration", "core", "jms", "addresses", "address", "anycast", "multicast"),
    *("queue", "queues", "topic", "filter", "selector", "address-settings"),
    *("address-setting", "security-settings", "security-setting", "permission"),
    *("role-mapping", "wildcard-addresses", "acceptors", "acceptor"),
    *("diverts", "divert", "broker-connections", "amqp-connection", "mirror"),
    *("include", "unheard-of"),
    *FIELDS, *OTHERS, *artemis_core.SETTINGS, *artemis_core.OTHERS,
    *artemis_queues.CHILDREN,
]  # fmt: skip
TEXTS = st.sampled_from(
    [
        *("", "a", "a.#", "#", "5", "-1", "true", "${a}", "${a:5}", "x > 1", "a,b"),
        *("send", "jms.queue.a"),
    ]
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["name", "match", "string", "type", "roles", "from", "to", "x"]),
    TEXTS,
    max_size=3,
)


@st.composite
def documents(draw: st.DrawFn) -> Xml.Element:
    """Any nesting of known elements, each with any attributes and text."""
    root = Xml.Element(draw(st.sampled_from(["configuration", "core", "addresses"])))
    every = [root]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(every))
        name = draw(st.sampled_from(NAMES))
        one = Xml.SubElement(parent, name, draw(ATTRIBUTES))
        one.text = draw(TEXTS)
        every.append(one)
    return root


@given(documents())
def test_every_part_of_any_document_is_taken_over_or_named(root: Xml.Element) -> None:
    found = xml_walk.of("artemis", root)

    counts = found.parts.counts
    assert counts.read == counts.taken + counts.named + counts.defaults
    assert counts.read == xml_walk.parts(root)
    values = {text for one in root.iter() for text in one.attrib.values()}
    values |= {xml_walk.said(one) for one in root.iter()}
    for _, (key,) in found.objects:
        assert key.removeprefix("jms.queue.").removeprefix("jms.topic.") in {
            *(one.removeprefix("jms.queue.") for one in values),
            "5",
        }
