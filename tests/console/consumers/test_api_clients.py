"""The API of connections and credentials: as the pages have it, as JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from broker.models import Act, ClientConnection, ClientEndpoint, Credential
from broker.security import credentials
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.edges.wire import make_client, make_credential, make_endpoint
from tests.console.recorded import deeds
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

REASON = {"reason": "it hangs"}


def post(client: Client, where: str, body: dict[str, Any]) -> Any:
    return client.post(f"{ROOT}/{where}", body, content_type="application/json")


def test_connections_are_told_with_what_they_have_open(sign_in: SignIn) -> None:
    make_queue("orders")
    credential = make_credential("shop")
    one = make_client(user=credential.user, credential=credential)
    make_endpoint(one, "orders", name="rcv-1", credit=90, messages=2**40)
    make_endpoint(one, "invoices", session=2)

    told = sign_in("viewer").get(f"{ROOT}/connections").json()

    (shop,) = told["connections"]
    assert told["next"] is None
    assert (shop["id"], shop["container_id"]) == (one.pk, "shop-7")
    assert (shop["user"], shop["credential"]) == ("shop-user", "shop")
    assert shop["is_encrypted"] is True
    assert shop["close_requested_at"] is shop["close_requested_by"] is None
    assert (shop["sessions"], shop["hidden_endpoints"]) == (2, 0)
    gets, puts = shop["endpoints"]
    assert (gets["kind"], gets["queue"], gets["messages"]) == ("gets", "orders", 2**40)
    assert (puts["kind"], puts["queue"], puts["node"]) == ("puts", None, "invoices")


def test_connections_come_in_pages_and_are_looked_for(sign_in: SignIn) -> None:
    for number in range(3):
        make_client(f"client-{number}")
    client = sign_in("viewer")
    where = f"{ROOT}/connections"

    first = client.get(where, {"limit": 2}).json()
    second = client.get(where, {"limit": 2, "after": first["next"]}).json()
    found = client.get(where, {"text": "CLIENT-1"}).json()

    names = [
        [one["container_id"] for one in told["connections"]]
        for told in (first, second, found)
    ]
    assert names == [["client-0", "client-1"], ["client-2"], ["client-1"]]
    assert second["next"] is None
    for wrong in ({"limit": 201}, {"text": "\0"}, {"after": -1}):
        assert problem(client.get(where, wrong), 422)["code"] == "invalid-request"


def test_a_list_has_the_first_endpoints_of_each_and_one_connection_has_all(
    sign_in: SignIn,
) -> None:
    one = make_client()
    for number in range(53):
        make_endpoint(one, f"queue-{number}")
    client = sign_in("viewer")

    (listed,) = client.get(f"{ROOT}/connections").json()["connections"]
    told = client.get(f"{ROOT}/connections/{one.pk}").json()

    assert (len(listed["endpoints"]), listed["more_endpoints"]) == (50, 3)
    assert (len(told["endpoints"]), told["more_endpoints"]) == (53, 0)
    gone = client.get(f"{ROOT}/connections/{'9' * 30}")
    assert problem(gone, 404)["code"] == "no-such-connection"


def test_what_one_may_not_inquire_is_not_told(client: Client) -> None:
    one = make_client()
    make_endpoint(one, "orders")
    make_endpoint(one, "invoices")
    foreign = make_client("foreign")
    make_endpoint(foreign, "invoices")
    client.force_login(make_user(permissions=("broker.view_queue",), pattern="orders"))

    (told,) = client.get(f"{ROOT}/connections").json()["connections"]

    assert [endpoint["node"] for endpoint in told["endpoints"]] == ["orders"]
    assert told["hidden_endpoints"] == 1
    refused = problem(client.get(f"{ROOT}/connections/{foreign.pk}"), 404)
    assert refused["code"] == "no-such-connection"


def test_the_list_asks_as_much_for_many_as_for_one(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    make_endpoint(make_client(), make_queue("0").name)
    with CaptureQueriesContext(database) as one:
        client.get(f"{ROOT}/connections")
    for number in range(1, 10):
        credential = make_credential(f"a{number}")
        made = make_client(user=credential.user, credential=credential)
        make_endpoint(made, make_queue(str(number)).name)
    with CaptureQueriesContext(database) as many:
        client.get(f"{ROOT}/connections")
    assert len(many) == len(one)


def test_a_connection_and_an_endpoint_are_asked_to_close(sign_in: SignIn) -> None:
    one = make_client()
    endpoint = make_endpoint(one)
    client = sign_in("operator")
    where = f"connections/{one.pk}"

    first = post(client, f"{where}/endpoints/{endpoint.pk}/close", REASON)
    second = post(client, f"{where}/close", REASON)

    endpoint.refresh_from_db()
    one.refresh_from_db()
    assert endpoint.close_requested_at is not None
    assert one.close_requested_at is not None
    assert [first.status_code, second.status_code] == [200, 200]
    assert (
        second.json()["close_requested_at"][:19]
        == (one.close_requested_at.isoformat()[:19])
    )
    assert [(one.act, one.reason) for one in deeds()] == [
        (Act.CLOSE_ENDPOINT, "it hangs"),
        (Act.CLOSE_CONNECTION, "it hangs"),
    ]
    (told,) = client.get(f"{ROOT}/connections").json()["connections"]
    assert told["close_requested_by"] == "operator"
    assert told["endpoints"][0]["close_requested_at"] is not None


def test_closing_needs_a_reason_a_right_and_something_to_close(
    sign_in: SignIn, client: Client
) -> None:
    one = make_client()
    endpoint = make_endpoint(one)
    paths = [
        f"connections/{one.pk}/close",
        f"connections/{one.pk}/endpoints/{endpoint.pk}/close",
    ]
    sign_in("viewer")
    for path in paths:
        assert problem(post(client, path, REASON), 403)["code"] == "not-permitted"
    permissions = ("broker.view_queue", "broker.close_clientconnection")
    client.force_login(make_user(permissions=permissions, granted=("inquire",)))
    for path in paths:
        told = problem(post(client, path, REASON), 403)
        assert (told["code"], told["reason"]) == ("not-authorized", 2035)
    sign_in("operator")
    for path in paths:
        assert problem(post(client, path, {}), 422)["code"] == "invalid-request"
        gone = path.replace(f"{one.pk}/close", f"{one.pk + 1}/close")
        gone = gone.replace(f"{endpoint.pk}/close", f"{'9' * 30}/close")
        assert problem(post(client, gone, REASON), 404)["code"] == "no-such-connection"
    assert not ClientConnection.objects.exclude(close_requested_at=None).exists()
    assert not ClientEndpoint.objects.exclude(close_requested_at=None).exists()
    assert deeds() == []


def test_a_credential_is_made_and_its_secret_told_once(sign_in: SignIn) -> None:
    make_user("shop-user")
    client = sign_in("administrator")
    expires_at = timezone.now() + timedelta(days=1)
    body = {"name": "shop", "owner": "shop-user", "patterns": ["eu.#", "us.#"]}

    answer = post(
        client,
        "credentials",
        body | {"may_get": False, "expires_at": expires_at.isoformat()},
    )

    told = answer.json()
    assert answer.status_code == 200, told
    assert credentials.verify("shop", told["secret"]) == Credential.objects.get()
    assert (told["may_get"], told["may_browse"], told["may_put"]) == (
        *(False, True, True),
    )
    assert (told["owner"], told["created_by"]) == ("shop-user", "administrator")
    assert Credential.objects.get().expires_at == expires_at
    listed = client.get(f"{ROOT}/credentials")
    assert told["secret"] not in listed.content.decode()
    (found,) = listed.json()["credentials"]
    assert told.keys() - found.keys() == {"secret"}
    assert found["created_at"][:19] == told["created_at"][:19]
    assert [one.act for one in deeds()] == [Act.CREATE_CREDENTIAL]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "so bad"}, ["name"]),
        ({"name": "taken"}, ["name"]),
        ({"owner": "nobody"}, ["owner"]),
        ({"owner": "\0"}, ["owner"]),
        ({"patterns": []}, ["patterns"]),
        ({"expires_at": "2020-01-01T00:00:00Z"}, ["expires_at"]),
        ({"expires_at": "2090-01-01T00:00:00"}, ["body", "expires_at"]),
        ({"may_get": False, "may_browse": False, "may_put": False}, []),
    ],
)
def test_what_is_wrong_with_a_new_credential_is_told(
    sign_in: SignIn, wrong: dict[str, Any], field: list[str]
) -> None:
    make_credential("taken")
    make_user("shop-user")
    body = {"name": "shop", "owner": "shop-user"}

    answer = post(sign_in("administrator"), "credentials", body | wrong)

    told = problem(answer, 422)
    assert told["code"] == "invalid-request"
    assert told["errors"][0]["where"] == ["body", *field]
    assert Credential.objects.count() == 1


def test_credentials_come_in_pages(sign_in: SignIn) -> None:
    for name in "abc":
        make_credential(name)
    client = sign_in("administrator")
    where = f"{ROOT}/credentials"

    first = client.get(where, {"limit": 2}).json()
    second = client.get(where, {"limit": 2, "after": first["next"]}).json()

    names = [[one["name"] for one in told["credentials"]] for told in (first, second)]
    assert names == [["a", "b"], ["c"]]
    assert second["next"] is None


def test_a_credential_is_revoked_once_and_it_is_written_down(sign_in: SignIn) -> None:
    one = make_credential("shop")
    client = sign_in("administrator")
    where = f"credentials/{one.name}/revoke"

    first = post(client, where, {"reason": "leaked"}).json()
    second = post(client, where, {}).json()

    assert first["revoked_at"] is not None
    assert (one.revoked_by, first["revoked_by"]) == (None, "administrator")
    assert (first.pop("changed"), second.pop("changed")) == (True, False)
    assert second == first
    (revoked,) = deeds(Act.REVOKE_CREDENTIAL)
    assert revoked.reason == "leaked"
    told = problem(post(client, "credentials/nobody/revoke", {}), 404)
    assert told["code"] == "no-such-credential"


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_credentials_are_for_administrators(sign_in: SignIn, role: str) -> None:
    one = make_credential("shop")
    client = sign_in(role)
    body = {"name": "other", "owner": one.user.username}

    for answer in (
        client.get(f"{ROOT}/credentials"),
        post(client, "credentials", body),
        post(client, f"credentials/{one.name}/revoke", {}),
    ):
        assert problem(answer, 403)["code"] == "not-permitted"
    assert Credential.objects.get().revoked_at is None
