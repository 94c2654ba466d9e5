"""A document of Open MQ that is read, run, and written out again."""

from __future__ import annotations

import pytest

from broker.bridges.config.bridge_import import apply, preview, read
from broker.bridges.config.documents import stored
from broker.bridges.config.jmsbridge_writing import write
from broker.models import Bridge, Link, LinkStatus
from broker.queueing.put import put
from tests.broker.bridges.config.jmsbridge_documents import said
from tests.broker.bridges.linking import dead, make_queues, taken
from tests.broker.bridges.other_backout import OtherBackout
from tests.broker.bridges.running import until_sent
from tests.broker.bridges.test_runner import running
from tests.console.until import until
from tests.make import make_queue

REASON = "JMS_SUN_JMSBRIDGE_DMQ_REASON"
DOCUMENT = """<jmsbridge name="shops">
  <link name="orders-out">
    <source connection-factory-ref="here" destination-ref="orders"/>
    <target connection-factory-ref="shop" destination-ref="inbox"/>
  </link>
  <link name="bills-in" transacted="false">
    <source connection-factory-ref="bank" destination-ref="bills"/>
    <target connection-factory-ref="here" destination-ref="booked"
            message-transformer-class="json-patch"
            consume-no-transfer-on-transform-error="true">
      <property name="patch"
          value='[{{"op": "add", "path": "/paid", "value": false}}]'/>
    </target>
  </link>
  <dmq name="at-the-shop" connection-factory-ref="shop" destination-ref="missing"
       send-attempts="1"/>
  <dmq name="ours" connection-factory-ref="here" destination-ref="failed"/>
  <connection-factory ref-name="here"/>
  <connection-factory ref-name="shop" multi-rm="true" password="{secret}">
    <property name="backout.provider" value="backout"/>
    <property name="backout.url" value="{url}"/>
  </connection-factory>
  <connection-factory ref-name="bank" connect-attempt-interval-in-seconds="1"
      password="{secret}">
    <property name="backout.provider" value="backout"/>
    <property name="backout.url" value="{url}"/>
  </connection-factory>
  <destination ref-name="orders" name="orders"/>
  <destination ref-name="inbox" name="inbox"/>
  <destination ref-name="bills" name="bills"/>
  <destination ref-name="booked" name="booked"/>
  <destination ref-name="missing" name="missing"/>
  <destination ref-name="failed" name="failed"/>
</jmsbridge>"""


@pytest.mark.spec("BRIDGE-17", "BRIDGE-14")
def test_links_of_a_document_carry_messages_and_are_written_out_as_they_were_read(
    transactional_db: None, other: OtherBackout
) -> None:
    make_queues("orders", "booked", "failed")
    with other.instead():
        make_queue("inbox")
        make_queue("bills")
        put("bills", b'{"bill": 1}', content_type="application/json")
        put("bills", b"not JSON", content_type="application/json")
    text = DOCUMENT.format(url=other.url, secret=other.secret)
    apply(read(text), "merge", token=preview(read(text), "merge").token)
    put("orders", b"one")
    put("orders", b"two")

    with running():
        until(lambda: LinkStatus.objects.count() == 2)
        until_sent(Link.objects.get(name="orders-out"), 2)
        until_sent(Link.objects.get(name="bills-in"), 1)
        until(lambda: Link.objects.get(name="bills-in").status.dead == 1)

    arrived = other.sql(
        "SELECT convert_from(body, 'UTF8') FROM broker_ready JOIN broker_message"
        " USING (id) JOIN broker_queue AS queue ON queue.id = queue_id"
        " WHERE queue.name = 'inbox' ORDER BY pos"
    )
    assert arrived == [("one",), ("two",)]
    assert [one.body for one in taken("booked")] == [b'{"bill": 1,"paid": false}']
    assert [one.properties[REASON] for one in dead()] == ["TRANSFORMER_FAILURE"]
    assert [one.body for one in taken("failed")] == [b"not JSON"]
    written = write(stored(Bridge.objects.get(name="shops")))
    assert said(read(written)) == said(read(text))
    assert not preview(read(written), "merge").changes_anything
