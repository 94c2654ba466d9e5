"""Files of other brokers become declarations: converted, planned, applied twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import amqp
import pytest

from broker.client import put
from broker.declarations import apply, plan, read
from broker.declarations.converters import FORMS, convert
from broker.errors.settings import WrongSettings
from broker.models import Address, AddressSetting, ModelQueue, Queue, QueueAlias
from broker.queueing import journal
from tests.broker.bridges.rabbitmq_machine import HOST, is_here

pytestmark = pytest.mark.django_db


def queue(name: str, *, durable: bool = True, **arguments: Any) -> dict[str, Any]:
    given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    kept = {"durable": durable, "auto_delete": not durable}
    return {"name": name, "vhost": "/", "arguments": given, **kept}


def exchange(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "vhost": "/", "type": kind, "arguments": {}}


def binding(source: str, destination: str, key: str) -> dict[str, Any]:
    ends = {"source": source, "destination": destination, "destination_type": "queue"}
    return {**ends, "vhost": "/", "routing_key": key, "arguments": {}}


MAY = {"configure": "^$", "write": ".*", "read": "^shop\\..*"}
POLICY = {"message-ttl": 60000, "max-length": 500}
RABBITMQ: dict[str, Any] = {
    "rabbit_version": "3.13.7",
    "users": [{"name": "shop", "tags": []}],
    "vhosts": [{"name": "/"}],
    "permissions": [{"user": "shop", "vhost": "/", **MAY}],
    "parameters": [{"component": "shovel", "name": "out", "vhost": "/", "value": {}}],
    "policies": [
        {"vhost": "/", "name": "all", "pattern": "^orders", "definition": POLICY}
    ],
    "queues": [
        queue(
            "orders",
            dead_letter_exchange="dlx",
            dead_letter_routing_key="dead",
            message_ttl=90000,
            delivery_limit=4,
            queue_type="quorum",
        ),
        *(queue("dead"), queue("eu"), queue("all", durable=False)),
    ],
    "exchanges": [exchange("dlx", "direct"), exchange("news", "topic")],
    "bindings": [
        binding("dlx", "dead", "dead"),
        binding("news", "eu", "*.eu"),
        binding("news", "eu", "uk"),
        binding("news", "all", "#"),
    ],
}

ARTEMIS = """<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
<addresses>
  <address name="orders"><anycast>
    <queue name="orders" max-consumers="1"><filter string="region = 'north'"/></queue>
  </anycast></address>
  <address name="news"><multicast>
    <queue name="mail"/><queue name="print"/>
  </multicast></address>
  <address name="DLQ"><anycast><queue name="DLQ"/></anycast></address>
</addresses>
<address-settings>
  <address-setting match="activemq.management#">
    <dead-letter-address>DLQ</dead-letter-address>
  </address-setting>
  <address-setting match="#">
    <dead-letter-address>DLQ</dead-letter-address>
    <redelivery-delay>5000</redelivery-delay>
    <address-full-policy>PAGE</address-full-policy>
  </address-setting>
</address-settings>
<security-settings>
  <security-setting match="orders.#">
    <permission type="send" roles="shop, desk"/>
    <permission type="consume" roles="shop"/>
  </security-setting>
</security-settings>
<diverts><divert name="audit"><address>orders</address></divert></diverts>
</core></configuration>"""

MQSC = """* The queues of the shop
DEFINE QLOCAL('orders') REPLACE +
    DESCR('Orders, of the shop (it''s ours)') +
    MAXDEPTH(5000) MAXMSGL(4194304) DEFPSIST(YES) -
 BOTHRESH(3) BOQNAME('orders.BOQ') HARDENBO
DEFINE QLOCAL(ORDERS.BOQ); DEF QL(X)
DEFINE QLOCAL('orders.BOQ') LIKE('orders') BOTHRESH(0) TRIGGER
ALTER QLOCAL('orders') MAXDEPTH(100) PUT(DISABLED)
DEFINE QALIAS(OLD.ORDERS) TARGET('orders')
DEFINE QMODEL(APP.MODEL) DEFTYPE(PERMDYN) BOTHRESH(5)
DEFINE TOPIC(NEWS) TOPICSTR('news/today') MDURMDL(APP.MODEL)
DEFINE SUB(MAIL) TOPICSTR('news/today') DEST('mail') SELECTOR('kind = ''a''')
DEFINE QREMOTE(FAR) RNAME(Q) RQMNAME(QM2)
SET AUTHREC PROFILE('orders.**') OBJTYPE(QUEUE) PRINCIPAL('shop') AUTHADD(PUT,INQ)
ALTER QMGR DEADQ(DLQ)
DISPLAY QLOCAL(*)
"""


def converted(form: str, text: str) -> str:
    """A file as TOML, applied twice: the second time, nothing changes."""
    result = convert(form, text.encode(), source="file")
    declared, _ = read(result)
    first = plan(declared)
    assert first.changes
    apply(first)
    assert plan(declared).changes == []
    assert read(convert(form, text.encode(), source="file"))[0] == declared
    return result


def test_definitions_of_rabbitmq() -> None:
    text = converted("rabbitmq", json.dumps(RABBITMQ))

    orders = Queue.objects.get(name="orders")
    assert (orders.address.name, orders.max_depth) == ("orders", 500)
    setting = AddressSetting.objects.get(match="orders")
    assert setting.max_delivery_attempts == 5
    assert setting.max_expiry_delay_ms == 60_000
    assert (setting.dead_letter_address, setting.expiry_address) == ("dlx", "dlx")
    assert Queue.objects.get(name="dead").selector == ""
    for line in (
        "# - policy all, max-length: When it is full, the oldest message is dropped",
        "# - queue all, durable: It is transient there; here it stays",
        "# - shovel out: Make it a link of a bridge",
        '#     [authorities."user:shop"]',
        '#     "shop.#" = ["browse", "get", "inquire"]',
        '#     "#" = ["put"]',
    ):
        assert line in text


@pytest.mark.parametrize(
    ("key", "takers"),
    [
        ("paris.eu", {"eu", "all"}),
        ("uk", {"eu", "all"}),
        ("city.paris.eu", {"all"}),
        ("eu", {"all"}),
        ("us", {"all"}),
    ],
)
def test_routing_keys_become_selectors(key: str, takers: set[str]) -> None:
    converted("rabbitmq", json.dumps(RABBITMQ))

    put("news", subject=key)

    names = dict(Queue.objects.values_list("pk", "name"))
    held = {names[pk] for pk, depth in journal.depths().items() if depth.total}
    assert held == takers


def test_a_broker_xml_of_artemis() -> None:
    text = converted("artemis", ARTEMIS)

    orders = Queue.objects.get(name="orders")
    assert (orders.selector, orders.get_routing_type_display()[:7]) == (
        "region = 'north'",
        "anycast",
    )
    assert {one.name for one in Address.objects.get(name="news").queues.all()} == {
        "mail",
        "print",
    }
    assert AddressSetting.objects.get().redelivery_delay_ms == 5000
    for line in (
        '<queue> max-consumers="1": There is no such rule for consumers here',
        ": The setting is left out. ",
        '<divert> name="audit", address (orders): There are no diverts here.',
        '#     [authorities."group:desk"]',
        '#     "orders.#" = ["get", "inquire", "put"]',
    ):
        assert line in text


def test_a_script_of_mqsc() -> None:
    text = converted("mqsc", MQSC)

    orders = Queue.objects.get(name="orders")
    assert (orders.max_depth, orders.backout_threshold) == (100, 3)
    assert (orders.backout_queue, orders.put_inhibited) == ("orders.BOQ", True)
    assert orders.description == "Orders, of the shop (it's ours)"
    copy = Queue.objects.get(name="orders.BOQ")
    assert (copy.max_depth, copy.backout_threshold) == (5000, 0)
    assert {"ORDERS.BOQ", "X"} <= set(Queue.objects.values_list("name", flat=True))
    assert QueueAlias.objects.get(name="OLD.ORDERS").target == "orders"
    assert ModelQueue.objects.get(name="APP.MODEL").permanent
    mail = Queue.objects.get(name="mail")
    assert (mail.address.name, mail.selector) == ("news/today", "kind = 'a'")
    assert mail.address.durable_model == "APP.MODEL"
    for line in (
        "# - line 7, QLOCAL(orders.BOQ) TRIGGER: no message starts a program",
        "# - line 13, DEFINE QREMOTE(FAR): make a link of a bridge",
        '# - line 15, QMGR DEADQ(DLQ): set BROKER_DEAD_LETTER_QUEUE = "DLQ"',
        '#     [authorities."user:shop"]',
        "# - line 16, DISPLAY QLOCAL(*): it shows something",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("rabbitmq", "{"),
        ("rabbitmq", "{}"),
        ("rabbitmq", '{"queues": [{}]}'),
        ("rabbitmq", '{"queues": {"a": 1}}'),
        ("artemis", "<configuration>"),
        ("mqsc", "DEFINE QLOCAL('orders"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(form: str, text: str) -> None:
    with pytest.raises(WrongSettings):
        convert(form, text.encode(), source="file")


def test_there_is_a_test_for_each_form() -> None:
    assert set(FORMS) == {"rabbitmq", "artemis", "activemq", "mqsc"}


@pytest.fixture
def rabbit_queue() -> Iterator[str]:
    """A queue of the machine's RabbitMQ, with a dead letter exchange."""
    if shutil.which("rabbitmqctl") is None or not is_here():
        pytest.skip("There is no RabbitMQ on this machine, or no right to ask it.")
    name = f"backout-{uuid.uuid4()}"
    arguments = {"x-dead-letter-exchange": f"{name}.dlx", "x-max-length": 7}
    with amqp.Connection(HOST) as connection:
        channel = connection.channel()
        channel.exchange_declare(f"{name}.dlx", "fanout", durable=True)
        channel.queue_declare(
            name, durable=True, auto_delete=False, arguments=arguments
        )
        yield name
        channel.queue_delete(name)
        channel.exchange_delete(f"{name}.dlx")


def test_what_rabbitmqctl_exports(rabbit_queue: str) -> None:
    asked = ["rabbitmqctl", "--quiet", "export_definitions", "-"]
    exported = subprocess.run(asked, capture_output=True, check=False, timeout=60)
    if exported.returncode:
        pytest.skip(f"rabbitmqctl may not export: {exported.stderr.decode()[:200]}")

    converted("rabbitmq", exported.stdout.decode())

    queue = Queue.objects.get(name=rabbit_queue)
    assert queue.max_depth == 7
    setting = AddressSetting.objects.get(match=rabbit_queue)
    assert setting.dead_letter_address == f"{rabbit_queue}.dlx"
