"""What a link could not carry, over the API: resubmitted through it, and decided."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker.models import Act, Branch, Operation
from tests.console.bridges.bridge_acts import branch, linked
from tests.console.bridging import die_of_link
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.recorded import deeds

pytestmark = pytest.mark.django_db

LINK = f"{ROOT}/bridges/shop/links/out"
WHY = {"reason": "the other side has it"}


def post(client: Client, where: str, body: Any) -> Any:
    return client.post(f"{LINK}/{where}", body, content_type="application/json")


@pytest.mark.parametrize("end", ["commit", "roll-back"])
def test_a_transaction_in_doubt_is_listed_and_decided(
    sign_in: SignIn, end: str
) -> None:
    xid = branch()

    assert problem(post(sign_in("operator"), f"branches/{xid}/{end}", WHY), 403)
    client = sign_in("administrator")
    (told,) = client.get(f"{LINK}/branches").json()["branches"]
    assert problem(post(client, f"branches/{xid}/{end}", {"reason": ""}), 400)
    answer = post(client, f"branches/{xid}/{end}", WHY)

    assert (told["xid"], told["kind"]) == (xid, "prepared")
    assert answer.json() == {"xid": xid, "committed": end == "commit"}
    assert not Branch.objects.exists()
    (deed,) = deeds(Act.DECIDE_BRANCH)
    assert deed.reason == WHY["reason"]
    again = problem(post(client, f"branches/{xid}/{end}", WHY), 404)
    assert again["code"] == "no-such-branch"


def test_dead_messages_are_planned_through_their_link(sign_in: SignIn) -> None:
    link = linked("STARTED")
    first, second = die_of_link(link), die_of_link(link, "KeyError: x")
    client = sign_in("operator")

    every = post(client, "resubmit", WHY).json()
    one = post(client, "resubmit", {"message": second}).json()

    assert (every["kind"], every["planned"], every["reason"]) == (
        "move",
        2,
        WHY["reason"],
    )
    assert every["argument"] == link.resubmit_queue
    assert one["planned"] == 1
    plan = Operation.objects.get(pk=one["id"])
    assert plan.items.get().message_id == second != first
    none = problem(post(client, "resubmit", {"fingerprint": "f" * 12}), 409)
    assert none["code"] == "nothing-chosen"
    assert problem(post(sign_in("viewer"), "resubmit", {}), 403)


def test_a_link_has_a_history(sign_in: SignIn) -> None:
    linked("STARTED")

    told = sign_in("viewer").get(f"{LINK}/history", {"range": "15m"}).json()

    assert set(told) == {"begin", "end", "step_s", "points"}
