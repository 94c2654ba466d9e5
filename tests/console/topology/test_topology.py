"""The picture of the topology: what is connected, what is left out, what is hidden."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from broker.bridges.providers.registry import HERE
from broker.models import Binding, Queue, QueueAlias
from broker.operations import queue_pause, rules
from broker.queueing.put import put_many
from console.topology.drawing import HEIGHT, WIDTH, draw
from console.topology.network import NodeKind, simplified
from console.topology.queries import ReadTopology, Topology, read_topology
from console.topology.reading import read_network
from dashboards.live import problems
from tests.console.bridging import make_link, stand
from tests.console.conftest import SignIn
from tests.make import make_messages, make_queue, make_setting, make_user

HIDDEN = ("dead-letters", "expired", "poison")
VIEW = ("broker.view_queue", "broker.view_link")


def routes(found: Topology) -> set[tuple[str, str, str]]:
    """Kind, source and target of each route."""
    return {
        (one.kind, f"{one.source_kind} {one.source}", f"{one.target_kind} {one.target}")
        for one in found.routes
    }


def read(**asked: Any) -> Topology:
    found: Topology = read_topology(None, ReadTopology(**asked))
    return found


def page(client: Client, query: str = "") -> str:
    return client.get("/topology/" + query).content.decode()


@pytest.fixture
def shop(db: None) -> None:
    """Orders, whose dead letters, expired and poison messages go to queues of their
    own; and a link that carries them away."""
    make_setting("#", dead_letter_address="dead", expiry_address="late")
    make_setting("payments", poison_policy="both")
    for name in ("dead", "late", "backout"):
        make_queue(name)
    make_queue("orders.eu", address="orders")
    make_queue("payments", backout_threshold=3, backout_queue="backout")
    stand(make_link(source="orders.eu", target="copies"), "STARTED", waiting=7)


@pytest.mark.usefixtures("shop")
def test_every_way_of_a_message_is_a_route() -> None:
    eu = Queue.objects.get(name="orders.eu")
    QueueAlias.objects.create(name="bills", target="payments")
    make_link(
        "in", source="foreign", source_at="stomp", target="orders", target_at=HERE
    )
    Binding.objects.create(exchange="ex", kind="direct", routing_key="eu", queue=eu)
    rules.save("dead", "ACTION(FWD) FWDQ('bills')", make_user("omar"))
    rules.switch("dead", "active", make_user("ada"))

    found = routes(read())

    assert {
        ("feeds", "address orders", "queue orders.eu"),
        ("dead-letters", "queue orders.eu", "address dead"),
        ("expired", "queue orders.eu", "address late"),
        ("feeds", "address dead", "queue dead"),
        ("dead-letters", "queue payments", "address dead"),
        ("poison", "queue payments", "queue backout"),
        ("read", "queue orders.eu", "link shop/out"),
        ("sent", "link shop/out", "elsewhere queue copies at shop/stomp-east"),
        ("alias", "alias bills", "queue payments"),
        ("read", "elsewhere queue foreign at shop/stomp-east", "link shop/in"),
        ("sent", "link shop/in", "address orders"),
        ("binding", "exchange ex", "address orders"),
        ("rule", "queue dead", "queue payments"),
    } <= found
    assert ("dead-letters", "queue dead", "address dead") not in found


@pytest.mark.usefixtures("shop")
def test_the_page_draws_them_with_depths_that_are_live(sign_in: SignIn) -> None:
    put_many(make_messages(1234))

    html = page(sign_in("viewer"))

    eu = Queue.objects.get(name="orders.eu").pk
    assert "5 of 5 queues are drawn" in html
    assert re.search(rf'data-slot="q{eu}-ready" value="1234">1,234<', html)
    assert 'href="/queues/orders.eu/"' in html
    assert 'href="/settings/effective/?address=orders"' in html
    assert 'href="/bridges/shop/out/"' in html
    assert "?links=0" in html
    for kind in ("feeds", "dead-letters", "expired", "poison", "read", "sent"):
        assert f'<path class="route route-{kind}"' in html
    assert re.search(r"dead letters go to queue\s*<[^>]*><bdi>dead<", html)


@pytest.mark.usefixtures("shop")
def test_an_address_and_its_only_queue_of_that_name_are_one_node() -> None:
    make_queue("other", address="late")

    found = simplified(read_network(None))

    addresses = {one.name for one in found.nodes if one.kind is NodeKind.ADDRESS}
    assert addresses == {"orders", "late"}
    ways = {(one.kind, one.source.name, one.target.kind) for one in found.routes}
    assert ("dead-letters", "orders.eu", "queue") in ways
    assert ("expired", "orders.eu", "address") in ways
    drawing = draw(found)
    left = {(one.node.kind, one.node.name): one.x for one in drawing.boxes}
    assert left[NodeKind.QUEUE, "payments"] < left[NodeKind.QUEUE, "dead"]


@pytest.mark.usefixtures("shop")
def test_what_somebody_may_not_see_has_no_name(client: Client) -> None:
    vera = make_user("vera", permissions=VIEW, pattern="payments")
    client.force_login(vera)

    html, found = page(client), read_topology(vera, ReadTopology())

    assert routes(found) == {
        ("feeds", "address payments", "queue payments"),
        *((kind, "queue payments", "hidden ") for kind in HIDDEN),
    }
    assert found.queues == 1
    assert "hidden" in html
    for name in ("dead", "late", "backout", "orders", "shop/out"):
        assert f"<bdi>{name}<" not in html


@pytest.mark.usefixtures("shop")
def test_who_may_see_no_links_sees_none() -> None:
    vera = make_user("vera", permissions=VIEW[:1])

    kinds = {one.kind for one in read_topology(vera, ReadTopology()).nodes}

    assert kinds == {"address", "queue"}


def test_of_many_queues_the_most_troubled_and_the_deepest_are_drawn(
    sign_in: SignIn,
) -> None:
    for number in range(50):
        make_queue(f"q{number}")
    put_many(make_messages(2, "q7"))
    queue_pause.pause("q9", user=make_user("omar"), reason="it hangs")

    assert [one.name for one in read_network(None, limit=2).nodes[:2]] == ["q9", "q7"]
    client = sign_in("viewer")
    html = page(client)
    assert "40 of 50 queues are drawn, the most troubled and the deepest" in html
    assert "10 more queues are not drawn" in html
    few = page(client, "?q=q1*")
    assert "11 of 50 queues are drawn" in few
    assert "not drawn" not in few
    assert "has “nothing” in its name" in page(client, "?q=nothing")


def test_a_queue_is_drawn_with_those_that_its_messages_are_moved_to(db: None) -> None:
    make_setting("#", dead_letter_address="dead", expiry_address="nowhere")
    for name in ("orders", "others"):
        make_queue(name)
    for number in range(9):
        make_queue(f"dead {number}", address="dead")

    found = read(text="orders")

    drawn = {one.name for one in found.nodes if one.kind == "queue"}
    assert drawn == {"orders", "dead 0", "dead 1", "dead 2"}
    notes = {one.name: one.note for one in found.nodes if one.kind == "address"}
    assert notes == {"orders": "", "dead": "6 more queues", "nowhere": "does not exist"}


def test_links_are_found_by_their_name_and_drawn_with_their_ends(db: None) -> None:
    for name in ("orders", "others"):
        make_queue(name)
    make_link("out", target="copies")
    make_link("away", source="others")

    found = read(text="copies")

    assert [one.name for one in found.nodes if one.kind == "link"] == ["shop/out"]
    assert [one.name for one in found.nodes if one.kind == "queue"] == ["orders"]
    assert found.matching == 0


@pytest.mark.usefixtures("shop")
def test_it_asks_as_much_for_many_queues_and_links_as_for_few(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    def queries() -> int:
        cache.delete(problems.key("settings"))  # it is cached for some seconds
        with CaptureQueriesContext(connection) as asked:
            page(client)
        return len(asked)

    queries()
    few = queries()
    for number in range(30):
        make_queue(f"q{number}", backout_threshold=1, backout_queue=f"q{number + 1}")
        QueueAlias.objects.create(name=f"alias {number}", target=f"q{number}")
    for number in range(5):
        make_link(f"link {number}", bridge=f"bridge {number}", source=f"q{number}")

    assert queries() == few


@pytest.mark.usefixtures("shop")
def test_nothing_is_drawn_over_another_and_messages_go_to_the_right() -> None:
    make_link("round", source="orders.eu", target="payments", target_at=HERE)

    drawing = draw(read_network(None))

    boxes = drawing.boxes
    assert all(
        abs(one.x - other.x) >= WIDTH or abs(one.y - other.y) >= HEIGHT
        for n, one in enumerate(boxes)
        for other in boxes[:n]
    )
    assert all(
        one.x + WIDTH <= drawing.width and one.y + HEIGHT <= drawing.height
        for one in boxes
    )
    left = {(one.node.kind, one.node.name): one.x for one in boxes}
    ordered = [
        left[NodeKind.ADDRESS, "orders"],
        left[NodeKind.QUEUE, "orders.eu"],
        left[NodeKind.ADDRESS, "dead"],
        left[NodeKind.QUEUE, "dead"],
    ]
    assert ordered == sorted(set(ordered))
    assert len(drawing.lines) == len(read_network(None).routes)
