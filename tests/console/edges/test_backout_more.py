"""The command line: clients, credentials, rules, groups, links and counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.models import Act, Branch, Credential, DeadLetterGroup, RuleTable
from broker.queueing.put import put
from broker.security import credentials
from console.accounts import roles
from dashboards.acts import run_report
from tests.console.bridges.bridge_acts import branch, linked
from tests.console.bridging import die_of_link
from tests.console.commanding import refused, run, told
from tests.console.edges.wire import make_client, make_endpoint
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

ADA = ("--user", "ada")
OLGA = ("--user", "olga")
WHY = ("--reason", "it hangs")
VERA = ("--user", "vera")
LINK = ("shop", "out")


@pytest.fixture(autouse=True)
def people() -> None:
    make_user("ada", permissions=tuple(roles.ADMINISTRATOR))
    make_user("olga", permissions=tuple(roles.OPERATOR))
    make_user("vera", permissions=tuple(roles.OPERATOR), granted=("inquire",))


def test_clients_are_listed_and_asked_to_leave() -> None:
    assert refused("connection", "list")[0] == 3
    one = make_client()
    end = make_endpoint(one, "orders").pk

    (row,) = told("connection", "list")["connections"]

    assert row["id"] == one.pk
    assert row["endpoints"][0]["node"] == "orders"
    assert refused("connection", "close", one.pk, *VERA)[0] == 1
    assert refused("connection", "close-endpoint", one.pk, end + 1, *WHY)[0] == 1
    told("connection", "close-endpoint", one.pk, end, *WHY, *OLGA)
    assert refused("connection", "close", one.pk, *OLGA)[0] == 1, "it says no why"
    told("connection", "close", one.pk, *WHY, *OLGA)
    assert [one.actor for one in deeds(Act.CLOSE_ENDPOINT, Act.CLOSE_CONNECTION)] == [
        "olga",
        "olga",
    ]
    assert refused("connection", "close", one.pk + 1, *WHY)[0] == 1


def test_a_credential_is_created_once_and_revoked() -> None:
    create = ("credential", "create", "shop", "olga", "--patterns", "orders")

    assert refused(*create)[0] == 2, "somebody has to create it"
    assert refused(*create, *OLGA)[0] == 1, "no operator creates any"
    made = told(*create, "--no-may-put", *ADA)

    assert credentials.bearer(made["secret"]) is not None
    assert (made["patterns"], made["may_get"], made["may_put"]) == (
        ["orders"],
        True,
        False,
    )
    code, why = refused(*create, *ADA)
    assert (code, "of this name" in why) == (1, True)
    assert made["secret"] not in run("credential", "list")
    assert told("credential", "revoke", "shop", *ADA)["done"] is False
    assert Credential.objects.get().revoked_at is None
    told("credential", "revoke", "shop", "--yes", "--reason", "it leaked", *ADA)
    assert Credential.objects.get().revoked_at is not None
    assert refused("credential", "revoke", "shop", "--yes", *ADA)[0] == 3
    assert refused("credential", "revoke", "none", *ADA)[0] == 1


def test_rules_are_tried_saved_and_switched(tmp_path: Path) -> None:
    make_places(attempts=1)
    die(attempts=1)
    file = tmp_path / "rules"
    file.write_text("ACTION(IGNORE)")
    save = ("rules", "save", "DLQ", file)

    (tried,) = told("rules", "preview", "DLQ", file, *ADA)["rules"]
    assert (tried["action"], tried["matched"]) == ("IGNORE", 1)
    assert not RuleTable.objects.exists()
    assert refused(*save, *OLGA)[0] == 1
    saved = told(*save, *ADA)
    assert (saved["mode"], saved["revision"]) == ("off", 1)
    assert refused(*save, "--revision", 0, *ADA)[0] == 1
    assert told("rules", "switch", "DLQ", "observe", *ADA)["mode"] == "observe"
    assert "ACTION(IGNORE)" in run("rules", "show", "DLQ")
    (row,) = told("rules", "list")["tables"]
    assert (row["queue"], row["changed_by"]) == ("DLQ", "ada")
    file.write_text("ACTION(NOTHING)")
    assert refused(*save, *ADA)[0] == 1
    assert refused("rules", "switch", "DLQ", "on", *ADA)[0] == 2


def test_a_group_of_dead_letters_is_acknowledged_snoozed_and_described() -> None:
    make_places(attempts=1)
    group = die(attempts=1).fingerprint
    command = "dead-letter-group"

    assert told(command, "acknowledge", group, *OLGA)["acknowledged_by"] == "olga"
    assert told(command, "reopen", group, *OLGA)["acknowledged_by"] is None
    assert told(command, "snooze", group, "4 h", *OLGA)["snoozed_until"]
    described = told(command, "describe", group, "--note", "n", "--owner", "ada", *OLGA)
    assert (described["owner"], described["note"]) == ("ada", "n")
    assert DeadLetterGroup.objects.get().fingerprint == group
    assert refused(command, "acknowledge", "f" * 12, *OLGA)[0] == 1
    assert refused(command, "describe", group, "--owner", "nobody", *OLGA)[0] == 1
    make_user("kim", permissions=("broker.view_queue",))
    assert refused(command, "acknowledge", group, "--user", "kim")[0] == 1


@pytest.mark.parametrize("end", ["commit", "roll-back"])
def test_a_transaction_of_a_link_is_decided(end: str) -> None:
    xid = branch()
    decide = ("link", end, *LINK, xid)
    why = ("--yes", "--reason", "compared")

    (row,) = told("link", "branches", *LINK)["branches"]
    assert row["xid"] == xid
    assert told(*decide, *ADA)["done"] is False
    assert Branch.objects.exists()
    assert refused(*decide, "--yes", *ADA)[0] == 1, "without a reason"
    assert refused(*decide, *why, *OLGA)[0] == 1, "no operator decides"
    assert told(*decide, *why, *ADA)["committed"] is (end == "commit")
    assert not Branch.objects.exists()
    assert refused(*decide, *why, *ADA)[0] == 1
    assert refused("link", "branches", *LINK)[0] == 3
    assert refused("link", "branches", "shop", "none")[0] == 1


def test_dead_messages_are_planned_through_their_link() -> None:
    link = linked("STARTED")
    message = die_of_link(link)

    plan = told("link", "resubmit", *LINK, "--message", message, *OLGA)

    assert (plan["state"], plan["kind"], plan["planned"]) == ("planned", "move", 1)
    assert plan["ways"][0]["to"] == link.resubmit_queue
    assert refused("link", "resubmit", *LINK, "--fingerprint", "f" * 12, *OLGA)[0] == 3


def test_a_report_is_run_with_parameters_by_name() -> None:
    make_user("omar", permissions=run_report.permissions)
    order = ("report", "run", "what-if", "--user", "omar", "--parameters")

    run = told(*order, "days=3")

    assert run["parameters"]["days"] == 3
    assert told(*order, "days=3")["id"] == run["id"]
    assert "NAME=VALUE" in refused(*order, "days")[1]
    assert "There is no parameter x" in refused(*order, "x=1")[1]
    assert told("report", "cancel", "what-if", run["id"], "--user", "omar")["ended_at"]
    assert refused("report", "run", "what-if")[0] == 2  # who orders it is stored


def test_counters_are_reset_and_their_values_told() -> None:
    make_queue()
    put("orders")

    reset = ("queue", "reset-counters", "orders")

    assert refused(*reset, *VERA)[0] == 1
    had = told(*reset, "--reason", "a new month", *OLGA)["had"]
    assert had["messages_added"] == 1
    assert told(*reset)["had"]["messages_added"] == 0
    assert deeds(Act.RESET_COUNTERS)[0].reason == "a new month"


def test_the_audit_is_read_by_who_may() -> None:
    make_queue()
    told("queue", "pause", "orders", "--reason", "it hangs", *OLGA)
    told("queue", "resume", "orders", *OLGA)

    asked = ("audit", "list", "--object", "queue:orders")

    every = told(*asked)["records"]
    (one,) = told(*asked, "--act", "queue.pause", "--actor", "olga")["records"]
    assert len(every) == 2
    assert (one["act"], one["actor"], one["reason"]) == (
        "queue.pause",
        "olga",
        "it hangs",
    )
    assert "it hangs" in run(*asked)
    assert refused(*asked, *OLGA)[0] == 1, "no operator reads it"
    assert refused(*asked, "--since", "soon")[0] == 2
    assert refused(*asked, "--since", "2100-01-01T00:00Z")[0] == 3


def test_a_value_that_is_no_choice_is_an_error_of_the_command() -> None:
    make_queue()
    reset = ("queue", "reset-counters", "orders")

    assert refused(*reset, "--counters", "depth")[0] == 2
    assert list(told(*reset, "--counters", "messages_added")["had"]) == [
        "messages_added"
    ]
