"""Names of up to 255 characters, the longest: put, dead letters, pages."""

from __future__ import annotations

from django.urls import reverse

from broker.models import DeadLetter, Operation, Queue
from broker.monitoring import dead_letters
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT
from tests.console.letters import ALL, attempt
from tests.console.operations.ordering import order, plan, started
from tests.make import NOON, make_queue, make_setting


def test_the_longest_names_have_dead_letters_and_pages(
    sign_in: SignIn, db: None
) -> None:
    name = "€" * 252
    make_queue(name)
    make_queue("billing")
    make_setting(
        "#",
        max_delivery_attempts=1,
        dead_letter_address="DLA",
        auto_create_dead_letter_resources=True,
    )
    message_id = put(name, now=NOON).message_id
    put(name, now=NOON)
    attempt("no", queue=name)
    (found,) = dead_letters.letters(ALL)
    dead = Queue.objects.get(pk=found.queue_id)
    assert len(dead.name) == 255
    assert dead.name.startswith("DLQ.€€€")
    client = sign_in("administrator")

    queues = [name, dead.name]
    pages = [
        *(reverse("console:queue", args=[one]) for one in queues),
        *(f"{reverse('console:order', args=[one])}?which=all" for one in queues),
        *(f"{reverse('console:messages')}?f=queue%3A%22{one}%22" for one in queues),
        f"{reverse('console:effective')}?address={name}",
        reverse("console:dead_letters"),
        reverse("console:dead_letter_group", args=[found.fingerprint]),
        reverse("console:rule_table", args=[dead.name]),
        reverse("console:message", args=[message_id]),
        f"{ROOT}{reverse('console:queue', args=[dead.name])}messages",
        f"/admin/broker/queue/{dead.pk}/change/",
    ]
    for page in pages:
        answer = client.get(page, follow=True)
        assert answer.status_code == 200, page

    started(client, plan(client, message=found.message_id))
    started(client, order(client, Operation.Kind.MOVE, queue=name, to="billing"))
    put("billing", now=NOON)
    started(client, order(client, Operation.Kind.MOVE, queue="billing", to=name))
    attempt("no", queue=name)
    attempt("no", queue=name)
    assert set(DeadLetter.objects.values_list("queue_id")) == {(dead.pk,)}
