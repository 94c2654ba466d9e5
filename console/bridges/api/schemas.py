"""Schemas of the parts of a bridge in requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from broker.bridges.config.documents import name_of
from broker.bridges.config.faults import Part
from broker.models import BridgeDestination, ConnectionFactory
from broker.models.links import LARGEST_BATCH
from console.edges.rest.problems import NO_NUL
from console.edges.rest.requests import RequestBody
from console.edges.rest.warned import Warned

MOST = 2**31 - 1
Text = Annotated[str, Field(max_length=10_000, pattern=NO_NUL)]
Short = Annotated[str, Field(max_length=255, pattern=NO_NUL)]
Ref = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL)]
Number = Annotated[int, Field(ge=0, le=MOST)]
Properties = Annotated[dict[str, str], Field(max_length=100)]


class BridgeDefinition(Schema):
    """The bridge itself, without its parts."""

    description: Text = ""
    tag_messages: bool = False  # message-transfer-tag-bridge-name
    log_transfers: bool = True  # log-message-transfer


class NewBridge(RequestBody, BridgeDefinition):
    """A bridge to define, without its parts."""


class FactoryDefinition(Schema):
    """The connection to a provider."""

    description: Text = ""
    provider: Annotated[str, Field(max_length=20, pattern=NO_NUL)]
    url: Annotated[str, Field(max_length=500, pattern=NO_NUL)] = ""
    username: Short = ""
    properties: Properties = {}
    lookup_name: Short = ""
    connect_attempts: Annotated[int, Field(ge=-1, le=MOST)] = -1  # -1: no limit
    connect_interval_s: Number = 5
    idle_timeout_s: Number = 1800
    multi_rm: bool = False


class NewFactory(RequestBody, FactoryDefinition):
    """A connection factory with a password: null keeps the stored one, an empty text
    removes it. Responses never contain it.
    """

    password: Annotated[str, Field(max_length=1000, pattern=NO_NUL)] | None = None


class StoredFactory(FactoryDefinition):
    """A connection factory, and whether a password is stored."""

    name: str
    has_password: bool


class DestinationDefinition(Schema):
    """A queue or a topic at a provider."""

    description: Text = ""
    name: Short  # the name of the queue or topic at its provider
    kind: Literal["queue", "topic"] = "queue"
    lookup_name: Short = ""
    properties: Properties = {}


class NewDestination(RequestBody, DestinationDefinition):
    """A destination to define."""


class SavedDestination(DestinationDefinition, Warned):
    """A destination, as it is now."""


class DeadQueueDefinition(Schema):
    """A further dead message queue, for messages that cannot be transferred."""

    description: Text = ""
    position: Number = 0  # queues are tried in ascending order
    enabled: bool = True
    factory: Ref
    destination: Ref
    stay_connected: bool = True
    time_to_live_ms: Annotated[int, Field(ge=0, lt=2**63)] = 0  # 0: no expiry
    client_id: Short = ""
    send_attempts: Annotated[int, Field(ge=1, le=MOST)] = 3
    send_interval_s: Number = 5
    transformer: Short = ""
    properties: Properties = {}


class NewDeadQueue(RequestBody, DeadQueueDefinition):
    """A further dead message queue to define."""


class SavedDeadQueue(DeadQueueDefinition, Warned):
    """A further dead message queue, as it is now."""


class LinkDefinition(Schema):
    """The source, the target and the options of a link."""

    description: Text = ""
    enabled: bool = True
    transacted: bool = True
    source_factory: Ref
    source: Ref
    source_description: Text = ""
    selector: Text = ""
    durable_name: Short = ""
    source_client_id: Short = ""
    target_factory: Ref
    target: Ref | None  # null is AS_SOURCE: the name at the source
    target_description: Text = ""
    stay_connected: bool = True
    target_client_id: Short = ""
    retain_reply_to: bool = False
    transformer: Short = ""
    properties: Properties = {}  # properties that the transformer gets
    transformer_time_limit_s: (
        Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None
    ) = None
    transform_failure: Literal["4.4", "4.4u1"] = "4.4u1"
    consume_on_transform_error: bool = False
    on_send_failure: Literal["dmq-and-ack", "dmq-and-retry"] = "dmq-and-ack"
    duplicate_detection: bool = False
    loop_guard: bool = True
    batch: Annotated[int, Field(ge=1, le=LARGEST_BATCH)] = 100


class SavedLink(LinkDefinition, Warned):
    """A link, as it is now."""


class NewLink(RequestBody, LinkDefinition):
    """A link to define."""


def part_document(part: Part, schema: type[Schema]) -> dict[str, Any]:
    """A part in the form of its schema; references are given by name."""
    values = {name: getattr(part, name, None) for name in schema.model_fields}
    shared = (ConnectionFactory, BridgeDestination)
    return {
        name: name_of(value) if isinstance(value, shared) else value
        for name, value in values.items()
    }
