"""Bridges from a terminal, as people know it from Open MQ."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from broker.bridges import secrets
from broker.bridges.config import edits
from broker.models import AuditRecord, Bridge, ConnectionFactory, LinkStatus
from console.accounts import roles
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT, LEAST
from tests.broker.bridges.making import factory, stored_link
from tests.console.bridges.api_bridge_acts import make_bridge
from tests.console.commanding import refused, run, told
from tests.make import make_user

pytestmark = pytest.mark.django_db


def test_links_are_listed_for_people_and_for_programs() -> None:
    assert refused("bridge", "list")[0] == 3
    make_bridge()
    stored_link("in", "other", source="amqp", target="this-broker")

    said = run("bridge", "list")
    assert "out" in said
    assert "queue:orders" in said
    assert "STARTED" in said
    links = told("bridge", "list")["links"]
    assert [(one["bridge"], one["link"], one["state"]) for one in links] == [
        ("bridge", "out", "STARTED"),
        ("other", "in", "UNINITIALIZED"),
    ]
    assert links[0]["counts"]["sent"] == 7
    assert len(told("bridge", "list", "-bn", "other")["links"]) == 1
    assert len(told("bridge", "list", "-bn", "other", "-ln", "in")["links"]) == 1


@pytest.mark.spec("BRIDGE-18")
def test_one_link_is_ordered_or_refuses() -> None:
    make_bridge("STOPPED")
    one = ("-bn", "bridge", "-ln", "out")

    assert refused("bridge", "pause", *one) == (
        1,
        "The link 'bridge/out' cannot pause: it is stopped. Start it first.",
    )
    (row,) = told("bridge", "start", *one, "--reason", "the shop is open")["links"]
    assert row == {
        "bridge": "bridge",
        "link": "out",
        "state": "STARTING",
        "outcome": "ordered",
    }
    (row,) = told("bridge", "start", *one)["links"]
    assert row["outcome"] == "no effect"
    record = AuditRecord.objects.get(act="link.start")
    assert (record.reason, record.actor_kind) == ("the shop is open", "system")


@pytest.mark.spec("BRIDGE-18")
def test_all_links_of_a_bridge_are_ordered_that_can_be() -> None:
    make_bridge("STARTED")
    idle = stored_link("idle", enabled=False)

    rows = told("bridge", "start", "-bn", "bridge")["links"]
    assert {one["link"]: one["outcome"] for one in rows} == {
        "idle": "it is disabled. Enable it under Settings first.",
        "out": "no effect",
    }
    rows = told("bridge", "stop", "-bn", "bridge")["links"]
    assert {one["link"]: one["state"] for one in rows} == {
        "idle": "UNINITIALIZED",
        "out": "STOPPING",
    }
    assert refused("bridge", "resume", "-bn", "bridge")[0] == 1
    assert not LinkStatus.objects.filter(link=idle).exclude(wanted="").exists()


def test_what_is_not_there_and_what_is_not_said_is_told() -> None:
    make_bridge()

    assert refused("bridge", "stop", "-bn", "none") == (
        1,
        "There is no bridge 'none'. Create it under Settings, or correct the name.",
    )
    assert (
        "has no link 'none'"
        in refused("bridge", "stop", "-bn", "bridge", "-ln", "none")[1]
    )
    assert refused("bridge", "stop")[0] == 2
    assert refused("bridge", "list", "-ln", "out")[0] == 2


def test_who_may_look_may_not_order() -> None:
    make_bridge()
    make_user("vera", permissions=tuple(roles.ROLES["viewer"]))

    assert len(told("bridge", "list", "--user", "vera")["links"]) == 1
    for order in ("stop", "rekey", "export"):
        more = () if order == "rekey" else ("-bn", "bridge")
        code, why = refused("bridge", order, *more, "--user", "vera")
        assert (code, "permission broker." in why) == (1, True)


def test_a_link_whose_queues_are_hidden_is_not_there() -> None:
    make_bridge()
    stored_link("in", "other", source="amqp", target="this-broker")
    make_user("vera", permissions=tuple(roles.ROLES["operator"]), granted=())
    vera = ("--user", "vera")

    assert refused("bridge", "list", *vera)[0] == 3
    for order in (("list",), ("stop",), ("stop", "-ln", "out"), ("stop", "-ln", "x")):
        code, why = refused("bridge", *order, "-bn", "bridge", *vera)
        assert (code, "There is no bridge 'bridge'" in why) == (1, True)
    assert LinkStatus.objects.get().state == "STARTED"


def test_to_order_takes_the_authority_to_set_the_queues_of_a_link() -> None:
    make_bridge()
    make_user("vera", permissions=tuple(roles.ROLES["operator"]), granted=("inquire",))

    code, why = refused("bridge", "stop", "-bn", "bridge", "--user", "vera")

    assert (code, "lacks the authority 'set'" in why) == (1, True)
    assert LinkStatus.objects.get().state == "STARTED"


def test_a_bridge_goes_out_to_a_file_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "jmsbridge.xml"
    file.write_text(DOCUMENT)

    said = run("bridge", "import", file)
    assert "added connection factory shop" in said
    assert "password: none → new" in said
    assert "Left open, line" in said
    assert "--yes does it" in said
    assert "s3same" not in said
    assert not Bridge.objects.exists()
    assert told("bridge", "import", file, "--yes")["applied"] is True

    exported = run("bridge", "export", "-bn", "shops")
    assert "s3same" not in exported
    file.write_text(exported)
    assert refused("bridge", "import", file, "--mode", "replace")[0] == 3
    file.write_text(LEAST.replace('name="b"', 'name="shops"', 1))
    said = run("bridge", "import", file, "--mode", "replace")
    assert "removed link orders-in" in said


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("<a/>", 1, "its root must be <jmsbridge>."),
        (LEAST.replace('"r" name="r"', '"r" name="q"'), 1, "would loop for ever"),
        (None, 1, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_wrong_is_refused(
    tmp_path: Path, text: str | None, code: int, sentence: str
) -> None:
    file = tmp_path / "jmsbridge.xml"
    if text is not None:
        file.write_text(text)

    found = refused("bridge", "import", file, "--yes")

    assert found[0] == code
    assert sentence in found[1]
    assert refused("bridge", "import", file, "--mode", "some")[0] == 2


def test_passwords_are_encrypted_anew(settings: Settings) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.BACKOUT_SECRET_KEYS = [old]
    edits.save(bridge := Bridge(name="bridge"))
    edits.save(factory(bridge, "mq", "amqp", username="shop"), password="s3same")
    settings.BACKOUT_SECRET_KEYS = [new, old]

    assert run("bridge", "rekey") == "1 password encrypted with the first key.\n"

    settings.BACKOUT_SECRET_KEYS = [new]
    kept = ConnectionFactory.objects.get().secret
    assert secrets.decrypt(kept, factory="mq") == "s3same"
    settings.BACKOUT_SECRET_KEYS = [old]
    assert "cannot be decrypted" in refused("bridge", "rekey")[1]
    ConnectionFactory.objects.all().delete()
    assert refused("bridge", "rekey")[0] == 3
