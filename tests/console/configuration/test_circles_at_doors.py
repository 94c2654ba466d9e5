"""Each door through which settings are made, planned or converted tells of the circle
of moves that it closes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from broker.client import declare_queue
from broker.config import documents
from broker.config.lint import advice
from broker.declarations.converters import convert
from broker.models import Address, AddressSetting, Bridge, Link, Queue, RuleTable
from tests.broker.bridges.making import destination, factory, kept
from tests.broker.declarations.test_converters import queue as rabbit
from tests.console.commanding import run
from tests.console.configuration.settings_forms import page, warnings
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.django_db

BACK = {"dead_letter_address": "A", "max_delivery_attempts": 2}
TOML = '[settings.B]\ndead_letter_address = "A"\nmax_delivery_attempts = 2\n'
DOCUMENT = documents.write([AddressSetting(match="B", **BACK)])
RULES = "ACTION(FWD) FWDQ('A')"
BRIDGE = """<jmsbridge name="round">
  <link name="back" transacted="false">
    <source connection-factory-ref="here" destination-ref="from"/>
    <target connection-factory-ref="here" destination-ref="to"/>
  </link>
  <connection-factory ref-name="here"/>
  <destination ref-name="from" name="B" type="queue"/>
  <destination ref-name="to" name="A" type="queue"/>
</jmsbridge>"""
Door = Callable[[Client, Path], str]


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return words(answer.content.decode())


def ends() -> dict[str, Any]:
    of = Bridge.objects.create(name="round")
    here = kept(factory(of))
    return {
        "bridge": of,
        "source_factory": here, "source": kept(destination(of, "from", "B")),
        "target_factory": here, "target": kept(destination(of, "to", "A")),
    }  # fmt: skip


def has_rules(**fields: Any) -> str:
    queue = Queue.objects.get(name="B")
    RuleTable.objects.create(queue=queue, text=RULES, **fields)
    return "B"


def of_api(client: Client, method: str, path: str, **body: Any) -> str:
    sent = json.dumps(body)
    answer = client.generic(method, f"/api/v1{path}", sent, "application/json")
    assert answer.status_code == 200, answer.content
    return "\n".join(answer.json()["warnings"])


def of_command(*arguments: object) -> str:
    said = run(*arguments)
    return said + said.errors


def file_of(folder: Path, text: str) -> Path:
    (folder / "file").write_text(text)
    return folder / "file"


def page_of_settings(client: Client, _: Path) -> str:
    return "\n".join(warnings(client, page(AddressSetting, "add"), match="B", **BACK))


def page_of_queue(client: Client, _: Path) -> str:
    queue = Queue.objects.get(name="B")
    fields = {"backout_threshold": 2, "backout_queue": "A"}
    return "\n".join(warnings(client, page(queue, "change"), **fields))


def page_of_link(client: Client, _: Path) -> str:
    fields = {name: one.pk for name, one in ends().items()}
    return "\n".join(warnings(client, page(Link, "add"), name="back", **fields))


def page_of_import(client: Client, _: Path) -> str:
    fields = {"mode": "merge", "text": DOCUMENT}
    return text_of(client.post("/admin/broker/addresssetting/import/", fields))


def page_of_bridge_import(client: Client, _: Path) -> str:
    fields = {"mode": "merge", "text": BRIDGE}
    return text_of(client.post("/admin/broker/bridge/import/", fields))


def page_of_rules(client: Client, _: Path) -> str:
    has_rules()
    path = reverse("console:switch_rules", args=["B"])
    answer = client.post(path, {"mode": "active"}, follow=True)
    return text_of(answer)


def page_of_health(client: Client, _: Path) -> str:
    make_setting("B", **BACK)
    return text_of(client.get(reverse("console:health")))


def page_of_new_queue(client: Client, _: Path) -> str:
    Queue.objects.get(name="B").delete()
    Address.objects.get(name="B").delete()
    make_setting("B", **BACK)
    path = reverse("console:new_queue")
    fields = {"name": "B", "routing_type": 1, "backout_threshold": 0}
    return text_of(client.post(path, fields, follow=True))


def api_of_settings(client: Client, _: Path) -> str:
    return of_api(client, "PUT", "/settings/B", **BACK)


def api_of_import(client: Client, _: Path) -> str:
    return of_api(client, "POST", "/settings-document", document=DOCUMENT)


def api_of_import_applied(client: Client, _: Path) -> str:
    return of_api(client, "POST", "/settings-document", document=DOCUMENT, apply=True)


def api_of_queues(client: Client, _: Path) -> str:
    fields = {"backout_threshold": 2, "backout_queue": "A"}
    return of_api(client, "PATCH", "/queues/B", **fields)


def api_of_links(client: Client, _: Path) -> str:
    ends()
    fields = {"source_factory": "here", "source": "from", "target_factory": "here"}
    path = "/bridges/round/links/back"
    return of_api(client, "PUT", path, **fields, target="to")


def api_of_bridges(client: Client, _: Path) -> str:
    return of_api(client, "POST", "/bridge-document", document=BRIDGE)


def api_of_rules(client: Client, _: Path) -> str:
    has_rules()
    return of_api(client, "POST", "/queues/B/dead-letter-rules/mode", mode="active")


def command_plan(_: Client, folder: Path) -> str:
    errors, file = StringIO(), str(file_of(folder, TOML))
    with pytest.raises(CommandError):  # something is to be changed
        call_command("backout", "apply", file, "--plan", stderr=errors)
    return errors.getvalue()


def command_apply(_: Client, folder: Path) -> str:
    return of_command("apply", file_of(folder, TOML), "--yes")


def command_alter(_: Client, __: Path) -> str:
    options = ("--backout-threshold", "2", "--backout-queue", "A", "--yes")
    return of_command("queue", "alter", "B", *options)


def command_settings(_: Client, folder: Path) -> str:
    return of_command("settings", "import", file_of(folder, DOCUMENT))


def command_broker_settings(_: Client, folder: Path) -> str:
    errors = StringIO()
    file = file_of(folder, DOCUMENT)
    call_command("broker_settings", "import", str(file), stderr=errors)
    return errors.getvalue()


def command_bridge(_: Client, folder: Path) -> str:
    return of_command("bridge", "import", file_of(folder, BRIDGE))


def command_rules(_: Client, __: Path) -> str:
    has_rules()
    return of_command("rules", "switch", "B", "active", "--user", "administrator")


def system_check(_: Client, __: Path) -> str:
    make_setting("B", **BACK)
    found = run_checks(tags=["database"], databases=["default"])
    return "\n".join(f"{one.msg} {one.hint}" for one in found)


DOORS: list[Door] = [
    *(page_of_settings, page_of_queue, page_of_link, page_of_import, page_of_rules),
    *(page_of_bridge_import, page_of_health, page_of_new_queue),
    *(api_of_settings, api_of_import, api_of_import_applied, api_of_queues),
    *(api_of_links, api_of_bridges, api_of_rules),
    *(command_plan, command_apply, command_alter, command_settings, command_rules),
    *(command_broker_settings, command_bridge, system_check),
]


@pytest.mark.thorough
@pytest.mark.parametrize("door", DOORS)
def test_each_door_tells_of_the_circle_that_it_closes(
    door: Door, ada: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "AB":
        make_queue(name)
    make_setting("A", dead_letter_address="B", max_delivery_attempts=2)
    assert not [one for one in advice() if one.code == "circle-of-moves"]

    said = door(ada, tmp_path) + "".join(capsys.readouterr())

    assert "from A to B (dead letters), from B to A (" in said
    assert "End the circle: allow -1 attempts for the address of A" in said


def test_the_log_tells_of_the_circle_that_a_program_declares(
    caplog: pytest.LogCaptureFixture,
) -> None:
    declare_queue("A", dead_letter_address="B")
    with caplog.at_level(logging.WARNING):
        declare_queue("B", dead_letter_address="A")

    assert "from A to B (dead letters), from B to A (dead letters)" in caplog.text


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (
            "rabbitmq",
            json.dumps(
                {
                    "queues": [
                        rabbit("A", dead_letter_exchange="",
                               dead_letter_routing_key="B", queue_type="quorum",
                               delivery_limit=3),
                        rabbit("B", dead_letter_exchange="",
                               dead_letter_routing_key="A", message_ttl=5000),
                    ]
                }
            ),
        ),
        (
            "mqsc",
            "DEFINE QLOCAL(A) BOTHRESH(3) BOQNAME(B)\n"
            "DEFINE QLOCAL(B) BOTHRESH(3) BOQNAME(A)\n",
        ),
        (
            "artemis",
            '<configuration><core><addresses><address name="A"><anycast>'
            '<queue name="A"/></anycast></address><address name="B"><anycast>'
            '<queue name="B"/></anycast></address></addresses><address-settings>'
            '<address-setting match="A"><dead-letter-address>B</dead-letter-address>'
            '</address-setting><address-setting match="B"><dead-letter-address>A'
            "</dead-letter-address></address-setting></address-settings></core>"
            "</configuration>",
        ),
        (
            "activemq",
            '<broker xmlns="http://activemq.apache.org/schema/core"><destinations>'
            '<queue physicalName="A"/><queue physicalName="B"/></destinations>'
            "<destinationPolicy><policyMap><policyEntries>"
            '<policyEntry queue="A"><deadLetterStrategy><sharedDeadLetterStrategy>'
            '<deadLetterQueue><queue physicalName="B"/></deadLetterQueue>'
            "</sharedDeadLetterStrategy></deadLetterStrategy></policyEntry>"
            '<policyEntry queue="B"><deadLetterStrategy><sharedDeadLetterStrategy>'
            '<deadLetterQueue><queue physicalName="A"/></deadLetterQueue>'
            "</sharedDeadLetterStrategy></deadLetterStrategy></policyEntry>"
            "</policyEntries></policyMap></destinationPolicy></broker>",
        ),
    ],
)  # fmt: skip
def test_what_is_converted_tells_of_its_circles(form: str, text: str) -> None:
    found = convert(form, text.encode(), source="file")

    assert "# - Messages can go round without end: from A to B (" in found
