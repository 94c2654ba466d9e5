"""Mapping of Open MQ's ``jmsbridge`` elements and attributes to our fields.

Fields without an attribute in Open MQ become properties whose names begin with
``backout.``. Its document type allows any property, so Open MQ can read such a file.

Source:
    Open MQ, ``sun_jmsbridge_1_0.dtd``; Administration Guide, "Creating the XML
    Configuration File for a JMS Bridge".
"""

from __future__ import annotations

from typing import Any

from django.db import models

from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)

DOCTYPE = '<!DOCTYPE jmsbridge SYSTEM "sun_jmsbridge_1_0.dtd">'
# Name of the processing instruction with a bridge's description.
DESCRIPTION_OF_BRIDGE = "backout-description"
MODELS: dict[str, type[models.Model]] = {
    "jmsbridge": Bridge,
    "link": Link,
    "source": Link,
    "target": Link,
    "dmq": DeadMessageQueue,
    "connection-factory": ConnectionFactory,
    "destination": BridgeDestination,
}
# Our fields, by element and attribute of the document.
ATTRIBUTES: dict[str, dict[str, str]] = {
    "jmsbridge": {
        "name": "name",
        "message-transfer-tag-bridge-name": "tag_messages",
        "log-message-transfer": "log_transfers",
    },
    "link": {"name": "name", "enabled": "enabled", "transacted": "transacted"},
    "source": {
        "connection-factory-ref": "source_factory",
        "destination-ref": "source",
        "selector": "selector",
        "durable-sub": "durable_name",
        "clientid": "source_client_id",
    },
    "target": {
        "connection-factory-ref": "target_factory",
        "destination-ref": "target",
        "stay-connected": "stay_connected",
        "clientid": "target_client_id",
        "retain-replyto": "retain_reply_to",
        "message-transformer-class": "transformer",
        "consume-no-transfer-on-transform-error": "consume_on_transform_error",
    },
    "dmq": {
        "name": "name",
        "enabled": "enabled",
        "connection-factory-ref": "factory",
        "destination-ref": "destination",
        "stay-connected": "stay_connected",
        "time-to-live-in-millis": "time_to_live_ms",
        "clientid": "client_id",
        "send-attempts": "send_attempts",
        "send-attempt-interval-in-seconds": "send_interval_s",
        "message-transformer-class": "transformer",
    },
    "connection-factory": {
        "ref-name": "name",
        "lookup-name": "lookup_name",
        "multi-rm": "multi_rm",
        "connect-attempts": "connect_attempts",
        "connect-attempt-interval-in-seconds": "connect_interval_s",
        "idle-timeout-in-seconds": "idle_timeout_s",
        "username": "username",
    },
    "destination": {
        "ref-name": "ref_name",
        "name": "name",
        "type": "kind",
        "lookup-name": "lookup_name",
    },
}
# Our fields that Open MQ has no attribute for.
PROPERTIES: dict[str, dict[str, str]] = {
    "target": {
        "backout.batch": "batch",
        "backout.transformer-time-limit-in-seconds": "transformer_time_limit_s",
        "backout.transform-failure": "transform_failure",
        "backout.on-send-failure": "on_send_failure",
        "backout.duplicate-detection": "duplicate_detection",
        "backout.loop-guard": "loop_guard",
    },
    "connection-factory": {"backout.provider": "provider", "backout.url": "url"},
}
SEALED = "backout.sealed-password"  # the encrypted password; never in an exported file
ADDRESS = "imqAddressList"  # a property: a factory with it connects to another Open MQ
DESCRIBED = {"source": "source_description", "target": "target_description"}
WITHOUT_DESCRIPTION = {"jmsbridge", "property", "description"}
WITH_PROPERTIES = {"target", "dmq", "connection-factory", "destination"}
REQUIRED = {
    "jmsbridge": ["name"],
    "link": ["name"],
    "source": ["connection-factory-ref", "destination-ref"],
    "target": ["connection-factory-ref", "destination-ref"],
    "dmq": ["name", "connection-factory-ref", "destination-ref"],
    "connection-factory": ["ref-name"],
    "destination": ["ref-name"],
    "property": ["name", "value"],
}
CHILDREN = {  # child elements, in the order of the document type
    "jmsbridge": ["link", "dmq", "connection-factory", "destination"],
    "link": ["description", "source", "target"],
    "source": ["description"],
    **{name: ["description", "property"] for name in WITH_PROPERTIES},
}


def column_of(element: str, name: str) -> models.Field:
    """The model's field for an attribute."""
    column = MODELS[element]._meta.get_field(name)
    assert isinstance(column, models.Field)
    return column


def default_of(element: str, name: str) -> Any:
    """The default of a field."""
    return column_of(element, name).get_default()
