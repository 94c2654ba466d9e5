"""The page of a new link: one form makes a link with all parts that it needs."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from broker.bridges import secrets
from broker.models import (
    Act,
    Authority,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    Link,
    Queue,
)
from console.accounts import roles
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.console.bridging import make_link, stand
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import make_queue, make_user

PAGE = "/new-link/"
AWAY = {
    "target-at": "new:amqp",
    "target-host": "mq.example.org",
    "target-username": "till",
    "target-password": "s3same",
}


def typed(**fields: str) -> dict[str, str]:
    """A link from ``orders`` here to ``bills`` elsewhere, as a browser sends it."""
    given = {
        "source-at": "this-broker",
        "source-kind": "queue",
        "source-name": "orders",
        "target-kind": "queue",
        "target-name": "bills",
        "link-safety": "transacted",
        "link-name": "out",
        "link-bridge": "shop",
        "link-enabled": "on",
    }
    return given | AWAY | {k.replace("__", "-"): v for k, v in fields.items()}


def count() -> tuple[int, int]:
    return ConnectionFactory.objects.count(), BridgeDestination.objects.count()


def errors(client: Client, **fields: str) -> dict[str, str]:
    """What the page says at its fields, by the name of the field."""
    answer = client.post(PAGE, typed(**fields))
    assert answer.status_code == 422
    new = answer.context["new"]
    return {
        f"{form.prefix}-{name}": " ".join(map(str, why))
        for form in (*new.ends, new.link)
        for name, why in form.errors.items()
    }


def test_one_form_makes_a_link_with_all_its_parts(ada: Client) -> None:
    make_queue()

    answer = ada.post(PAGE, typed(target__tls="on", target__port="5671"), follow=True)

    link = Link.objects.get()
    assert answer.redirect_chain == [
        (reverse("console:link", args=["shop", "out"]), 302)
    ]
    assert (link.enabled, link.transacted, link.duplicate_detection) == (
        True,
        True,
        False,
    )
    assert (link.source_factory.provider, link.source.name) == ("this-broker", "orders")
    away = link.target_factory
    assert (away.provider, away.url) == ("amqp", "amqps://mq.example.org:5671")
    assert (away.name, away.username) == ("mq.example.org", "till")
    assert secrets.decrypt(away.secret, factory="") == "s3same"
    assert link.target
    assert (link.target.kind, link.target.name) == ("queue", "bills")
    text = words(answer.content.decode())
    assert (
        "The link shop/out is created, with bridge shop, connection factory here,"
        " destination orders, connection factory mq.example.org, destination bills."
    ) in text
    assert "Start shop/out" in text
    assert {one.act for one in deeds()} == {Act.CREATE}
    assert "s3same" not in answer.content.decode()


def test_what_is_there_already_is_used(ada: Client) -> None:
    make_queue()
    known = make_link().target_factory
    before = count()
    page = ada.get(PAGE).content.decode()
    assert f'value="connection:{known.pk}" selected' in page
    assert "stomp-east (STOMP, stomp://mq-east.example:61613)" in html.unescape(page)

    at = {"target__at": f"connection:{known.pk}", "target__name": "orders.copy"}
    answer = ada.post(
        PAGE, typed(link__name="more", link__bridge="", **at), follow=True
    )

    link = Link.objects.get(name="more")
    assert (link.bridge.name, link.target_factory) == ("shop", known)
    assert count() == before
    assert "The link shop/more is created." in words(answer.content.decode())


def test_a_queue_of_the_target_is_created_with_the_link(ada: Client) -> None:
    back = {
        "source__at": "new:rabbitmq",
        "source__host": "::1",
        "source__path": "shop",
        "source__name": "bills",
        "target__at": "this-broker",
        "target__name": "",
    }

    ada.post(PAGE, typed(link__safety="duplicates", **back))

    link = Link.objects.get()
    assert link.source_factory.url == "amqp://[::1]/shop"
    assert (link.transacted, link.duplicate_detection, link.target) == (
        False,
        True,
        None,
    )
    assert Queue.objects.get(name="bills").address.name == "bills"


@pytest.mark.parametrize(
    ("kind", "url", "properties"),
    [
        ("amqp", "amqps://mq.example.org", {"ca-file": "/etc/ssl/mq-ca.pem"}),
        ("backout", "https://mq.example.org/a%20b", {"ca-file": "/etc/ssl/mq-ca.pem"}),
        ("kombu", "rediss://mq.example.org/a%20b", {}),
    ],
)
def test_a_connection_has_only_the_fields_of_its_kind(
    ada: Client, kind: str, url: str, properties: dict[str, str]
) -> None:
    make_queue()
    secure = {"target__tls": "on", "target__ca_file": "/etc/ssl/mq-ca.pem"}
    at = {"target__at": f"new:{kind}", "target__path": "/a b"}

    ada.post(PAGE, typed(link__safety="plain", **at, **secure))

    made = ConnectionFactory.objects.get(provider=kind)
    assert (made.url, made.properties) == (url, properties)


@pytest.mark.parametrize(
    ("fields", "place", "sentence"),
    [
        ({"source__name": "orders.typo"}, "source-name", "no queue 'orders.typo'"),
        ({"target__host": ""}, "target-host", "Write the name or the address"),
        ({"target__host": "amqp://mq"}, "target-host", "Write the host alone"),
        ({"target__host": "mq..org"}, "target-host", "Write the host alone"),
        ({"target__host": "a:b"}, "target-host", "Write the host alone"),
        ({"target__port": "99999"}, "target-port", "less than or equal to 65535"),
        ({"target__password": ""}, "target-username", "a username but no password"),
        ({"target__at": "new:rabbitmq"}, "link-safety", "has no transactions."),
        ({"link__safety": "duplicates"}, "link-safety", "only if the target is this"),
        (
            {"source__at": "new:stomp", "source__host": "x"},
            "target-at",
            "neither is this",
        ),
        ({"link__name": "a/b"}, "link-name", "A name has no slash"),
        ({"link__name": ""}, "link-name", "required"),
        ({"link__bridge": "AS_SOURCE"}, "link-bridge", "is reserved"),
        ({"link__selector": "colour ="}, "link-selector", "The selector is wrong"),
        ({"link__durable_name": "d"}, "link-durable_name", "Only a subscription to a"),
        ({"target__name": "imq.bridge.jms.dmq"}, "target-name", "is the built-in dead"),
        (
            {"target__at": "this-broker", "target__name": ""},
            "target-name",
            "each message would loop for ever",
        ),
    ],
)
def test_a_fault_stands_at_its_field(
    ada: Client, fields: dict[str, str], place: str, sentence: str
) -> None:
    make_queue()

    found = errors(ada, **fields)

    assert list(found) == [place]
    assert sentence in found[place]
    assert not Bridge.objects.exists()


def test_a_name_that_is_taken_is_refused(ada: Client) -> None:
    make_queue()
    make_link("out")

    assert errors(ada)["link-name"].startswith("This bridge has a link of this name.")


def test_a_connection_of_another_bridge_is_refused_at_its_field(ada: Client) -> None:
    make_queue()
    at = f"connection:{make_link(bridge='other').target_factory.pk}"

    found = errors(ada, target__at=at)

    assert "belongs to another bridge." in found["target-at"]


def test_who_may_not_make_links_sees_why(sign_in: SignIn) -> None:
    stand(make_link(), "STARTED")
    operator = sign_in("operator")

    page = operator.get("/bridges/").content.decode()

    assert re.search(r'<button[^>]* disabled aria-describedby="no-new">New link…', page)
    assert "Users with the role administrator may make links." in page
    assert operator.get(PAGE).status_code == 403
    assert operator.post(PAGE, typed()).status_code == 403
    assert not Link.objects.filter(bridge__name="shop", name="more").exists()


def test_an_empty_list_leads_to_the_page(ada: Client) -> None:
    page = ada.get("/bridges/").content.decode()

    assert f'href="{PAGE}">New link…' in page
    assert "There are no links." in words(page)


def test_ends_that_one_may_not_see_are_refused(db: None, client: Client) -> None:
    make_queue()
    names = ("link", "bridge", "connectionfactory", "bridgedestination")
    alf = make_user("alf", permissions=tuple(f"broker.add_{name}" for name in names))
    alf.groups.set(Group.objects.none())
    Authority.objects.filter(user=alf).delete()
    client.force_login(alf)

    found = errors(client)

    assert found["source-name"].startswith("To use orders, you need the authority")


def test_a_stored_connection_is_tested_by_whom_may_change_it(
    db: None, client: Client
) -> None:
    known = make_link(target_at="amqp").target_factory
    names = ("link", "bridge", "connectionfactory", "bridgedestination")
    may = [f"broker.add_{name}" for name in names]
    alf = make_user("alf", permissions=(*may, "broker.view_connectionfactory"))
    client.force_login(alf)

    said = outcome_of(client, target__at=f"connection:{known.pk}")

    assert said == "Not connected. Users with the role administrator may test it."


@pytest.fixture
def elsewhere(transactional_db: None) -> Any:
    """A broker that speaks AMQP 1.0."""
    with listener() as listening:
        yield listening


def outcome_of(client: Client, **fields: str) -> str:
    answer = client.post(
        PAGE, typed(test="target", **fields), headers={"HX-Request": "true"}
    )
    assert answer.status_code == 200
    return " ".join(
        re.sub("<[^>]*>", "", html.unescape(answer.content.decode())).split()
    )


@pytest.fixture
def chief(transactional_db: None, client: Client) -> Client:
    """As ``ada``, where commits are real."""
    may = tuple(roles.ROLES["administrator"])
    client.force_login(make_user("chief", permissions=may))
    return client


def test_a_connection_is_tested_before_it_is_stored(
    elsewhere: Listening, chief: Client
) -> None:
    at = {"target__host": elsewhere.host, "target__port": str(elsewhere.port)}
    at |= {"target__username": elsewhere.user.username, "target__name": ""}

    good = outcome_of(chief, target__password=PASSWORD, **at)
    bad = outcome_of(chief, target__password="wrong", **at)

    where = f"amqp://{elsewhere.host}:{elsewhere.port}"
    assert good.startswith(f"Connected to {where}, and logged in as amelia.")
    assert bad.startswith("Not connected. The provider refuses the user 'amelia'")
    assert not ConnectionFactory.objects.exists()


def test_without_scripts_a_test_shows_the_page_with_its_result(ada: Client) -> None:
    nobody = {"target__host": "127.0.0.1", "target__port": "9"}  # of discard

    answer = ada.post(PAGE, typed(test="target", **nobody))

    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Not connected. There is no answer from 127.0.0.1:9" in words(page)
    assert 'value="127.0.0.1"' in page
    assert "s3same" not in page
    assert "This field is required" not in page


def test_a_stored_connection_is_tested_with_its_password(
    elsewhere: Listening, chief: Client
) -> None:
    known = make_link(target_at="amqp").target_factory
    known.url = f"amqp://{elsewhere.host}:{elsewhere.port}"
    known.username, known.secret = "amelia", secrets.encrypt(PASSWORD)
    known.save()

    said = outcome_of(chief, target__at=f"connection:{known.pk}")

    assert said.startswith("Connected to amqp://")
    assert "logged in as amelia." in said
