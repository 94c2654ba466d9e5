"""The trace context of messages that came by AMQP."""

from __future__ import annotations

from tests.amqp.written import annotated, application, came, data, sent, without_header

OURS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
THEIRS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


def test_it_is_an_application_property_or_an_annotation_which_wins() -> None:
    by_sender = application({"traceparent": OURS, "tenant": "t7"}) + data()
    by_middleware = annotated(traceparent=THEIRS, tracestate="rojo=1") + by_sender
    wrong = annotated(traceparent="no context") + by_sender

    assert came(by_sender).properties == {"traceparent": OURS, "tenant": "t7"}
    assert came(wrong).properties == {"traceparent": OURS, "tenant": "t7"}
    assert came(by_middleware).properties == {
        "traceparent": THEIRS,
        "tracestate": "rojo=1",
        "tenant": "t7",
    }
    for payload in (by_sender, by_middleware, wrong):
        assert without_header(sent(came(payload))) == payload
