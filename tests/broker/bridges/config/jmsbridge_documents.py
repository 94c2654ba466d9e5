"""Documents as Open MQ has them: one with everything, and one with the least."""

from __future__ import annotations

from typing import Any

from broker.bridges.config.documents import Document, values_of

DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE jmsbridge SYSTEM "sun_jmsbridge_1_0.dtd">
<jmsbridge name="shops" message-transfer-tag-bridge-name="true"
           log-message-transfer="false">
  <?backout-description "Orders of <all> shops?\\u003e"?>
  <link name="orders-in">
    <description>From the shops, &lt;all&gt; of them.</description>
    <source connection-factory-ref="shop" destination-ref="orders"
            selector="colour = 'blue' AND weight &gt; 2" durable-sub="till"
            clientid="backout">
      <description>where tills send</description>
    </source>
    <target connection-factory-ref="here" destination-ref="inbox"
            stay-connected="false" clientid="in" retain-replyto="true"
            message-transformer-class="headers"
            consume-no-transfer-on-transform-error="true">
      <description>where we book</description>
      <property name="set.tenant" value="t7"/>
      <property name="backout.batch" value="10"/>
      <property name="backout.transformer-time-limit-in-seconds" value="1.5"/>
      <property name="backout.transform-failure" value="4.4"/>
      <property name="backout.on-send-failure" value="dmq-and-retry"/>
      <property name="backout.loop-guard" value="false"/>
    </target>
  </link>
  <link name="bills-out" enabled="false" transacted="false">
    <source connection-factory-ref="here" destination-ref="bills"/>
    <target connection-factory-ref="mq" destination-ref="AS_SOURCE"/>
  </link>
  <dmq name="second-dead" connection-factory-ref="here" destination-ref="dead"/>
  <dmq name="first-dead" enabled="false" connection-factory-ref="shop"
       destination-ref="elsewhere" stay-connected="false"
       time-to-live-in-millis="60000" clientid="dead" send-attempts="7"
       send-attempt-interval-in-seconds="0" message-transformer-class="headers">
    <description>at the shops</description>
    <property name="remove" value="secret-colour"/>
  </dmq>
  <connection-factory ref-name="here">
    <description>this one</description>
  </connection-factory>
  <connection-factory ref-name="shop" multi-rm="true" connect-attempts="3"
      connect-attempt-interval-in-seconds="1" idle-timeout-in-seconds="0"
      username="till" password="s3same">
    <property name="backout.provider" value="amqp"/>
    <property name="backout.url" value="amqps://shop.test:5671"/>
    <property name="heartbeat" value="10"/>
  </connection-factory>
  <connection-factory ref-name="mq" lookup-name="cn=CF7677">
    <property name="java.naming.provider.url" value="file:///jndi/"/>
  </connection-factory>
  <destination ref-name="orders" name="shop.orders" type="topic"/>
  <destination ref-name="inbox" name="inbox" type="queue">
    <description>ours</description>
    <property name="maxNumMsgs" value="0"/>
  </destination>
  <destination ref-name="bills" name="bills"/>
  <destination ref-name="dead" name="dead" type="queue"/>
  <destination ref-name="elsewhere" name="dead.letters" type="queue"/>
</jmsbridge>
"""
LEAST = """<jmsbridge name="b">
  <link name="l">
    <source connection-factory-ref="here" destination-ref="q"/>
    <target connection-factory-ref="here" destination-ref="r"/>
  </link>
  <dmq name="d" connection-factory-ref="here" destination-ref="dead"/>
  <connection-factory ref-name="here"/>
  <destination ref-name="q" name="q"/>
  <destination ref-name="r" name="r"/>
  <destination ref-name="dead" name="dead"/>
</jmsbridge>"""


def said(document: Document) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything that a document says, by kind and name."""
    return {
        (
            type(one).__name__,
            values_of(one).get("ref_name") or values_of(one)["name"],
        ): {**values_of(one)}
        for one in document.parts
    }
