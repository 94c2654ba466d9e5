"""Dead letters, operations, address settings and health over the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from broker.models import Act, AddressSetting, AuditRecord, Operation, Queue, Ready
from broker.queueing.put import put
from broker.security import credentials
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_authority, make_queue, make_setting, make_user

pytestmark = pytest.mark.django_db
ALL_AT_ONCE = {"reason": "stock", "canary": 0}


def post(client: Client, where: str, body: dict[str, Any]) -> Any:
    return client.post(f"{ROOT}/{where}", body, content_type="application/json")


@pytest.fixture
def three_died() -> None:
    make_places(attempts=1)
    for error in ("no stock for 7", "no stock for 8", "bad row"):
        die(error, attempts=1)


def test_dead_letters_come_in_groups_and_one_by_one(
    sign_in: SignIn, three_died: None
) -> None:
    client = sign_in("viewer")

    told = client.get(f"{ROOT}/dead-letter-groups").json()
    first = client.get(f"{ROOT}/dead-letters", {"limit": 2}).json()
    rest = client.get(f"{ROOT}/dead-letters", {"before": first["next"]}).json()

    assert [one["messages"] for one in told["groups"]] == [2, 1]
    assert [one["error"] for one in first["letters"] + rest["letters"]] == [
        "bad row",
        "no stock for 8",
        "no stock for 7",
    ]
    assert rest["next"] is None
    alike = client.get(
        f"{ROOT}/dead-letters", {"fingerprint": told["groups"][0]["fingerprint"]}
    ).json()
    assert len(alike["letters"]) == 2
    assert client.get(f"{ROOT}/dead-letters", {"queue": "none"}).json()["letters"] == []


def test_what_may_not_be_inquired_is_no_dead_letter(
    client: Client, three_died: None
) -> None:
    client.force_login(make_user(permissions=("broker.view_queue",), pattern="orders"))

    assert client.get(f"{ROOT}/dead-letters").json()["letters"] == []
    assert client.get(f"{ROOT}/dead-letter-groups").json()["groups"] == []


@pytest.mark.parametrize(
    "which", [{"letters": {"origin_queue": "orders"}}, {"filter": ["state:dead"]}]
)
def test_dead_letters_are_resubmitted(
    sign_in: SignIn, three_died: None, which: dict[str, Any]
) -> None:
    client = sign_in("operator")

    plan = post(client, "operations", {"kind": "resubmit", **which}).json()
    assert (plan["state"], plan["planned"]) == ("planned", 3)
    done = post(client, f"operations/{plan['id']}/start", ALL_AT_ONCE).json()

    assert (done["state"], done["done"], done["reason"]) == ("done", 3, "stock")
    assert done["created_by"] == "operator"
    orders = Queue.objects.get(name="orders")
    assert set(Ready.objects.values_list("queue_id", flat=True)) == {orders.pk}
    assert [one.act for one in deeds()] == [Act.PLAN, Act.START]

    undo = post(client, f"operations/{plan['id']}/undo", {}).json()
    assert (undo["undoes"], undo["planned"]) == (plan["id"], 3)
    ended = post(client, f"operations/{undo['id']}/cancel", {}).json()
    assert ended["state"] == "cancelled"
    listed = client.get(f"{ROOT}/operations", {"limit": 1}).json()
    assert [one["id"] for one in listed["operations"]] == [undo["id"]]
    assert listed["next"] == undo["id"]


def test_messages_are_moved_to_where_one_may_put(
    sign_in: SignIn, client: Client
) -> None:
    make_queue("orders")
    make_queue("later")
    message_id = put("orders").message_id
    body = {"kind": "move", "queue": "later", "messages": [message_id]}
    permissions = ("broker.view_queue", "broker.resubmit_message")
    user = make_user(permissions=permissions, pattern="orders")
    client.force_login(user)

    assert problem(post(client, "operations", body), 404)["code"] == "no-such-queue"
    make_authority(user, "inquire", pattern="later")
    assert problem(post(client, "operations", body), 403)["code"] == "not-authorized"
    assert not Operation.objects.exists()
    plan = post(sign_in("operator"), "operations", body).json()
    assert plan["planned"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "resubmit"}, 422),
        ({"kind": "resubmit", "filter": ["x"], "messages": [1]}, 422),
        ({"kind": "sing", "messages": [1]}, 422),
        ({"kind": "move", "queue": "nowhere", "filter": ["state:ready"]}, 404),
        ({"kind": "resubmit", "messages": [1]}, 409),
        ({"kind": "priority", "messages": [1]}, 400),
    ],
)
def test_what_cannot_be_planned_is_refused(
    sign_in: SignIn, body: dict[str, Any], status: int
) -> None:
    problem(post(sign_in("operator"), "operations", body), status)
    assert not Operation.objects.exists()


def test_a_hard_operation_asks_why(sign_in: SignIn) -> None:
    make_queue("orders")
    message_id = put("orders").message_id
    client = sign_in("operator")
    wanted = {"kind": "expire", "messages": [message_id]}
    plan = post(client, "operations", wanted).json()

    told = problem(post(client, f"operations/{plan['id']}/start", {}), 400)

    assert told["code"] == "reason-missing"
    assert Operation.objects.get().state == "planned"


def put_setting(client: Client, match: str, values: Any, **headers: str) -> Any:
    return client.put(
        f"{ROOT}/settings/{match}",
        values,
        content_type="application/json",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


@pytest.mark.parametrize(
    ("name", "match"), [("orders.~23", "orders.#"), ("eu~2Forders", "eu/orders")]
)
def test_a_setting_is_made_read_changed_and_removed(
    sign_in: SignIn, name: str, match: str
) -> None:
    client = sign_in("administrator")
    new = put_setting(client, name, {"max_delivery_attempts": 3}, If_None_Match="*")
    assert new.status_code == 200, new.content
    made = {"match": match, "max_delivery_attempts": 3}
    assert new.json().items() >= made.items()

    read = client.get(f"{ROOT}/settings/{name}")
    assert read["ETag"] == new["ETag"]
    changed = put_setting(
        client, name, {"redelivery_delay_ms": "5 s"}, If_Match=read["ETag"]
    )
    now = {"max_delivery_attempts": None, "redelivery_delay_ms": 5000}
    assert changed.json().items() >= now.items()
    assert changed["ETag"] != read["ETag"]
    for headers in ({"If_Match": read["ETag"]}, {"If_None_Match": "*"}):
        late = put_setting(client, name, {}, **headers)
        assert problem(late, 412)["code"] == "not-as-seen"

    where = f"{ROOT}/settings/{name}"
    gone = client.delete(where, headers={"If-Match": changed["ETag"]})
    assert gone.json() == changed.json()
    assert problem(client.delete(where), 404)["code"] == "not-found"
    assert problem(client.get(where), 404)["code"] == "not-found"
    assert [one.act for one in deeds()] == [Act.CREATE, Act.CHANGE, Act.DELETE]


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"max_delivery_attempts": -2}, 400, "wrong-settings"),
        ({"redelivery_delay_multiplier": 0}, 400, "wrong-settings"),
        ({"poison_policy": ""}, 422, "invalid-request"),
        ({"max_delivery_attempts": "3"}, 422, "invalid-request"),
        ({"no_such": 1}, 422, "invalid-request"),
        ({"match": "other"}, 422, "invalid-request"),
    ],
)
def test_a_wrong_setting_changes_nothing(
    sign_in: SignIn, values: dict[str, Any], status: int, code: str
) -> None:
    client = sign_in("administrator")

    told = problem(put_setting(client, "orders", values), status)
    assert told["code"] == code
    assert not AddressSetting.objects.exists()


def test_settings_are_for_administrators(sign_in: SignIn) -> None:
    client = sign_in("operator")

    problem(client.get(f"{ROOT}/settings"), 403)
    problem(client.get(f"{ROOT}/settings-document"), 403)
    problem(put_setting(client, "orders", {}), 403)
    problem(post(client, "settings-document", {"document": "{}"}), 403)


def test_what_is_exported_is_imported(sign_in: SignIn) -> None:
    make_setting("#", max_delivery_attempts=3)
    make_setting("orders", dead_letter_address="DLA", redelivery_delay_ms=0)
    client = sign_in("administrator")
    before = client.get(f"{ROOT}/settings").json()
    text = client.get(f"{ROOT}/settings-document").json()["document"]
    xml = client.get(f"{ROOT}/settings-document", {"format": "xml"}).json()
    AddressSetting.objects.filter(match="orders").delete()
    AddressSetting.objects.update(max_delivery_attempts=5)

    sent: dict[str, Any] = {"document": text, "mode": "replace"}
    told = post(client, "settings-document", sent).json()
    assert told["applied"] is False
    assert {one["match"]: one["deed"] for one in told["changes"]} == {
        "#": "changed",
        "orders": "added",
    }
    assert AddressSetting.objects.count() == 1
    sent |= {"apply": True, "token": told["token"]}
    assert post(client, "settings-document", sent).json()["applied"] is True

    assert client.get(f"{ROOT}/settings").json() == before
    assert xml["document"].startswith("<")
    assert problem(post(client, "settings-document", sent), 409)["code"] == (
        "settings-changed"
    )
    bad = {"document": json.dumps({"format": "x"})}
    assert problem(post(client, "settings-document", bad), 400)["code"] == (
        "wrong-settings"
    )


def test_health_says_what_should_be_put_right(sign_in: SignIn) -> None:
    make_setting("#", max_delivery_attempts=0)

    told = sign_in("viewer").get(f"{ROOT}/health").json()

    assert "attempts-of-zero" in {one["code"] for one in told["findings"]}
    assert all(one["remedy"] for one in told["findings"])
    assert told["prepared"] == []


def test_acts_are_in_the_audit_under_who_asked(sign_in: SignIn) -> None:
    make_places(attempts=1)
    die(attempts=1)
    client = sign_in("administrator")
    put_setting(client, "orders", {"max_delivery_attempts": 3})
    put_setting(client, "orders", {"max_delivery_attempts": 4})
    client.delete(f"{ROOT}/settings/orders")
    olga = make_user("olga", permissions=tuple(roles.OPERATOR))
    _, secret = credentials.create("night", olga)
    machine = Client(headers={"Authorization": f"Bearer {secret}"})

    plan = post(machine, "operations", {"kind": "resubmit", "filter": ["state:dead"]})

    assert plan.status_code == 200, plan.content
    prepared = [Act.CREATE_ACCOUNT, Act.SIGN_IN, Act.CREATE_CREDENTIAL]
    records = AuditRecord.objects.exclude(act__in=prepared).order_by("pk")
    assert [(one.act, one.actor_kind, one.actor) for one in records] == [
        (Act.CHANGE, "user", "administrator"),
        (Act.CHANGE, "user", "administrator"),
        (Act.DELETE, "user", "administrator"),
        (Act.PLAN, "credential", "night"),
    ]
    changed = records[1].details["changed"]
    assert changed == {"max_delivery_attempts": {"before": 3, "after": 4}}


def test_a_plan_may_have_its_reason_and_waits_for_a_second_person(
    sign_in: SignIn,
) -> None:
    make_queue("orders", approval_above=1)
    ids = [put("orders").message_id for _ in range(2)]
    client = sign_in("operator")
    wanted = {"kind": "expire", "messages": ids, "reason": "they are tests"}

    plan = post(client, "operations", wanted).json()
    told = problem(post(client, f"operations/{plan['id']}/start", {}), 409)

    assert plan["reason"] == "they are tests"
    assert told["code"] == "approval-needed"
    assert Operation.objects.get().state == "planned"
