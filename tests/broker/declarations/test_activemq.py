"""Each part of an activemq.xml is taken over, or named; and nothing else is made."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.declarations import apply, plan, read
from broker.declarations.converters import activemq_elements as elements
from broker.declarations.converters import convert
from broker.declarations.kinds import SETTING
from broker.errors.settings import WrongSettings
from broker.models import Address, AddressSetting, Queue, RoutingType
from tests.broker.declarations import xml_walk

WHOLE = """<?xml version="1.0"?>
<beans xmlns="http://www.springframework.org/schema/beans"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b">
<bean class="org.springframework.PropertyPlaceholderConfigurer"><property name="a" value="b"/></bean>
<import resource="jetty.xml"/>
<broker xmlns="http://activemq.apache.org/schema/core" brokerName="shop" persistent="true"
    dataDirectory="${activemq.data}" useJmx="true" newAttribute="7">
  <destinations>
    <queue physicalName="ORDERS.EU"/>
    <queue physicalName="Consumer.mail.VirtualTopic.News"/>
    <queue physicalName="${copy:COPY}?consumer.prefetch=1"/>
    <queue physicalName="${lost}"/>
    <topic physicalName="PRICES"/><topic physicalName="COPY"/>
    <tempQueue physicalName="TEMP"/>
  </destinations>
  <destinationPolicy><policyMap>
    <policyEntries>
      <policyEntry queue=">" producerFlowControl="true" prioritizedMessages="true" memoryLimit="1mb">
        <deadLetterStrategy>
          <individualDeadLetterStrategy queuePrefix="DLQ." processExpired="false" processNonPersistent="true"/>
        </deadLetterStrategy>
      </policyEntry>
      <policyEntry queue="ORDERS.>">
        <deadLetterStrategy><sharedDeadLetterStrategy>
          <deadLetterQueue><queue physicalName="DEAD.ORDERS"/></deadLetterQueue>
        </sharedDeadLetterStrategy></deadLetterStrategy>
      </policyEntry>
      <policyEntry queue="LOGS.*"><deadLetterStrategy><discarding/></deadLetterStrategy></policyEntry>
      <policyEntry queue="ODD*" newAttribute="1"><deadLetterStrategy><discarding/></deadLetterStrategy></policyEntry>
      <policyEntry topic="PRICES.>"><pendingMessageLimitStrategy>
        <constantPendingMessageLimitStrategy limit="1000"/></pendingMessageLimitStrategy></policyEntry>
      <policyEntry topic="ORDERS.>"><deadLetterStrategy>
        <sharedDeadLetterStrategy deadLetterQueue="queue://OTHER"/></deadLetterStrategy></policyEntry>
    </policyEntries>
    <defaultEntry><policyEntry enableAudit="true"/></defaultEntry>
  </policyMap></destinationPolicy>
  <destinationInterceptors><virtualDestinationInterceptor><virtualDestinations>
    <virtualTopic name="VirtualTopic.>" prefix="Consumer.*." selectorAware="true"/>
    <compositeQueue name="BOTH"><forwardTo>
      <filteredDestination selector="a = 1" queue="ONE"/><topic physicalName="TWO"/>
    </forwardTo></compositeQueue>
  </virtualDestinations></virtualDestinationInterceptor></destinationInterceptors>
  <plugins>
    <redeliveryPlugin fallbackToDeadLetter="true" sendToDlqIfMaxRetriesExceeded="false">
      <redeliveryPolicyMap><redeliveryPolicyMap>
        <redeliveryPolicyEntries>
          <redeliveryPolicy queue="ORDERS.>" maximumRedeliveries="4" initialRedeliveryDelay="5000"
            redeliveryDelay="7" useExponentialBackOff="true" backOffMultiplier="2"
            useCollisionAvoidance="true" maximumRedeliveryDelay="60000"/>
          <redeliveryPolicy queue="SLOW.A,SLOW.B" redeliveryDelay="many" backOffMultiplier="3"/>
        </redeliveryPolicyEntries>
        <defaultEntry><redeliveryPolicy maximumRedeliveries="-1" redeliveryDelay="${wait:9000}"/></defaultEntry>
      </redeliveryPolicyMap></redeliveryPolicyMap>
    </redeliveryPlugin>
    <timeStampingBrokerPlugin ttlCeiling="86400000" zeroExpirationOverride="3600000" futureOnly="true"/>
    <discardingDLQBrokerPlugin dropOnly="TRASH"/>
    <simpleAuthenticationPlugin><users>
      <authenticationUser username="bill" password="hunter2" groups="shop"/></users></simpleAuthenticationPlugin>
    <authorizationPlugin><map><authorizationMap><authorizationEntries>
      <authorizationEntry queue="ORDERS.>" read="shop" write="shop, desk" admin="admins"/>
      <authorizationEntry topic="ActiveMQ.Advisory.>" read="all"/>
    </authorizationEntries>
    <tempDestinationAuthorizationEntry><tempDestinationAuthorizationEntry read="a"/></tempDestinationAuthorizationEntry>
    </authorizationMap></map></authorizationPlugin>
    <newPlugin a="1"/>
  </plugins>
  <persistenceAdapter><kahaDB directory="${activemq.data}/kahadb"/></persistenceAdapter>
  <networkConnectors><networkConnector name="eu" uri="static:(tcp://eu:61616)" userName="a" password="hunter2"/></networkConnectors>
  <transportConnectors><transportConnector name="amqp" uri="amqp://0.0.0.0:5672?maximumConnections=1000"/></transportConnectors>
  <newSection><x/></newSection>
</broker></beans>"""  # noqa: E501


def broker(inside: str) -> str:
    return f"<beans><broker>{inside}</broker></beans>"


def policy(attributes: str, inside: str = "") -> str:
    return broker(
        "<plugins><redeliveryPlugin><x><redeliveryPolicy queue='A'"
        f" {attributes}/></x></redeliveryPlugin></plugins>{inside}"
    )


def settings(text: str) -> dict[str, dict[str, Any]]:
    found = xml_walk.of("activemq", text)
    return {key: v for (kind, (key,)), v in found.objects.items() if kind is SETTING}


def test_each_part_is_counted_once_as_a_walk_counts_them() -> None:
    found = xml_walk.of("activemq", WHOLE)

    counts = found.parts.counts
    assert counts.read == xml_walk.parts(Xml.fromstring(WHOLE))
    assert counts.read == counts.taken + counts.named + counts.defaults
    assert min(counts.taken, counts.named, counts.defaults) > 0


def test_no_part_vanishes_without_a_word() -> None:
    whole = Xml.fromstring(WHOLE)
    text = xml_walk.toml("activemq", whole)

    silent = [
        re.sub(r"\{.*?\}|\s+", "", what)
        for what, less in xml_walk.shortened(whole)
        if xml_walk.toml("activemq", less) == text
    ]

    assert silent == [
        "schemaLocationofbeans",
        "persistentofbroker",
        "prioritizedMessagesofpolicyEntry",
        "processNonPersistentofindividualDeadLetterStrategy",
        "fallbackToDeadLetterofredeliveryPlugin",
    ]


@pytest.mark.django_db
def test_what_is_made_is_in_the_file_and_nothing_else() -> None:
    text = convert("activemq", WHOLE.encode(), source="activemq.xml")
    declared, _ = read(text)
    apply(plan(declared))

    assert plan(declared).changes == []
    assert set(Queue.objects.values_list("name", "address__name", "routing_type")) == {
        ("ORDERS.EU", "ORDERS.EU", RoutingType.ANYCAST),
        ("Consumer.mail.VirtualTopic.News", "VirtualTopic.News", RoutingType.MULTICAST),
        ("COPY", "COPY", RoutingType.ANYCAST),
    }
    assert set(Address.objects.values_list("name", flat=True)) == {
        *("ORDERS.EU", "VirtualTopic.News", "COPY", "PRICES"),
    }
    made = {one.match: one for one in AddressSetting.objects.all()}
    assert set(made) == {"#", "ORDERS.#", "LOGS.*"}
    assert settings(WHOLE) == {
        "#": {
            "dead_letter_address": "DLQ",
            "auto_create_dead_letter_resources": True,
            "dead_letter_queue_prefix": "DLQ.",
            "dead_letter_queue_suffix": "",
            "expiry_address": "",
            "max_delivery_attempts": -1,
            "redelivery_delay_ms": 9000,
            "expiry_delay_ms": 3600000,
            "max_expiry_delay_ms": 86400000,
        },
        "ORDERS.#": {
            "dead_letter_address": "DEAD.ORDERS",
            "expiry_address": "DEAD.ORDERS",
            "max_delivery_attempts": 5,
            "redelivery_delay_ms": 5000,
            "redelivery_delay_multiplier": 2.0,
            "redelivery_collision_avoidance_factor": 0.15,
            "max_redelivery_delay_ms": 60000,
        },
        "LOGS.*": {"dead_letter_address": "", "expiry_address": ""},
    }


@pytest.mark.parametrize(
    "said",
    [
        "${copy:COPY}?consumer.prefetch=1 was read with its default",
        '<queue> physicalName="${lost}": The value comes from a system property',
        "A queue and a topic of one name are two destinations there.",
        "In 'ODD*' a wildcard stands beside other characters",
        "Another entry of ORDERS.# says otherwise",
        "It must be a whole number, not 'many'.",
        "There, it has no effect without useExponentialBackOff.",
        'redeliveryDelay="7": Here the first delay is like the later ones',
        '<compositeQueue> name="BOTH", forwardTo (filteredDestination (selector=',
        '[authorities."group:desk"]',
        '"ORDERS.#" = ["browse", "get", "inquire"',
        'admin="admins": No authority is needed',
        '<networkConnector> name="eu", uri="static:(tcp://eu:61616)"',
        "Set BROKER_AMQP_HOST and BROKER_AMQP_PORT",
        'newAttribute="7";',
        '<newPlugin> a="1";',
        ": It is not known here; nothing was made of it. If it matters, set by hand",
        '<import> resource="jetty.xml": Another file is imported here',
    ],
)
def test_what_has_no_equal_is_named_with_what_to_do(said: str) -> None:
    assert said in convert("activemq", WHOLE.encode(), source="activemq.xml")


def test_passwords_are_not_written() -> None:
    assert "hunter2" not in convert("activemq", WHOLE.encode(), source="activemq.xml")


@pytest.mark.parametrize(
    ("attributes", "made"),
    [
        ("maximumRedeliveries='0'", {"max_delivery_attempts": 1}),
        ("maximumRedeliveries='-1'", {"max_delivery_attempts": -1}),
        ("redeliveryDelay='5'", {"redelivery_delay_ms": 5}),
        ("initialRedeliveryDelay='5'", {"redelivery_delay_ms": 5}),
        ("initialRedeliveryDelay='1' redeliveryDelay='5'", {"redelivery_delay_ms": 5}),
        (
            "initialRedeliveryDelay='1' redeliveryDelay='5'"
            " useExponentialBackOff='true'",
            {"redelivery_delay_ms": 1, "redelivery_delay_multiplier": 5.0},
        ),
        (
            "useCollisionAvoidance='true' collisionAvoidancePercent='30'",
            {"redelivery_collision_avoidance_factor": 0.3},
        ),
        ("backOffMultiplier='0' useExponentialBackOff='true'", {}),
    ],
)
def test_a_policy_of_redelivery(attributes: str, made: dict[str, Any]) -> None:
    assert settings(policy(attributes)).get("A", {}) == made


@pytest.mark.parametrize(
    ("interceptors", "address"),
    [
        ("", "VirtualTopic.News"),
        ("<destinationInterceptors/>", "Consumer.a.VirtualTopic.News"),
        (
            "<destinationInterceptors><virtualTopic name='>' prefix='VTC.*.'/>"
            "</destinationInterceptors>",
            "Consumer.a.VirtualTopic.News",
        ),
    ],
)
def test_a_queue_is_fed_by_the_virtual_topics_of_the_file(
    interceptors: str, address: str
) -> None:
    name = "Consumer.a.VirtualTopic.News"
    text = broker(
        f"<destinations><queue physicalName='{name}'/></destinations>{interceptors}"
    )
    made = {
        kind.name: v for (kind, _), v in xml_walk.of("activemq", text).objects.items()
    }
    assert made["queue"]["address"] == address


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<beans/>", "There is no <broker>"),
        ("<broker><server configuration='a'/></broker>", "bootstrap.xml of Artemis"),
        ("<configuration/>", "broker.xml of ActiveMQ Artemis"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "c">]><broker>&b;</broker>', "entities"),
    ],
)
def test_a_file_of_another_kind_or_a_hostile_one_is_refused(
    text: str, said: str
) -> None:
    with pytest.raises(WrongSettings, match=said):
        convert("activemq", text.encode(), source="file")


NAMES = [
    *("destinations", "queue", "topic", "destinationPolicy", "policyMap", "plugins"),
    *("policyEntries", "policyEntry", "defaultEntry", "deadLetterStrategy", "bean"),
    *("individualDeadLetterStrategy", "sharedDeadLetterStrategy", "discarding"),
    *("deadLetterQueue", "redeliveryPlugin", "redeliveryPolicy", "unheard-of"),
    *("timeStampingBrokerPlugin", "authorizationPlugin", "authorizationEntry"),
    *elements.INTERCEPTORS, *elements.EACH, *elements.PLUGINS, *elements.SECTIONS,
]  # fmt: skip
TEXTS = st.sampled_from(
    ["", "A", "A.>", ">", "5", "-1", "true", "false", "${a}", "a,b"]
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(
        [
            *("physicalName", "queue", "topic", "read", "write", "admin", "class"),
            *(
                "queuePrefix",
                "processExpired",
                "maximumRedeliveries",
                "deadLetterQueue",
            ),
            *("useExponentialBackOff", "redeliveryDelay", "ttlCeiling", "unheard-of"),
        ]
    ),
    TEXTS,
    max_size=4,
)


@st.composite
def documents(draw: st.DrawFn) -> Xml.Element:
    """Any nesting of known elements, each with any attributes and text."""
    root = Xml.Element("broker")
    every = [root]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(every[-3:]))
        one = Xml.SubElement(parent, draw(st.sampled_from(NAMES)), draw(ATTRIBUTES))
        one.text = draw(TEXTS)
        every.append(one)
    return root


@given(documents())
def test_every_part_of_any_document_is_taken_over_or_named(root: Xml.Element) -> None:
    found = xml_walk.of("activemq", root)

    counts = found.parts.counts
    assert counts.read == counts.taken + counts.named + counts.defaults
    assert counts.read == xml_walk.parts(root)
