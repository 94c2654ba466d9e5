"""Blocks that only their page explains: bodies of requests, rules, properties, SQL."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import environ
import psycopg
import yaml
from asgiref.sync import async_to_sync
from celery import Celery
from cryptography.fernet import Fernet
from django.conf import settings as of_django
from django.db import connection
from django.test import RequestFactory

from broker.bridges.transformers.registry import Context, transformer
from broker.client import put
from broker.client.dispatch import handlers
from broker.client.dispatch.middleware import wrapped
from broker.client.testing import assert_put, run_ready
from broker.models import Link, LinkState, RecurringMessage
from broker.queueing.store import NewMessage
from dashboards.metrics import collector
from dashboards.spark import own_conf
from tests.blocks.place import Place, shows
from tests.blocks.reading import joined
from tests.blocks.shell import run_lines
from tests.console.bridging import stand
from tests.console.commanding import run

DOLLARS = b'{"currency": "USD"}'
ORDER = NewMessage(
    "orders",
    b'{"order": 7, "currency": "USD", "card": "4111"}',
    content_type="application/json",
    properties={"region": "north", "amount": 101, "custmer": 7, "password": "x"},
)


def requests(where: str) -> Callable[[str, Place], None]:
    """Each line is the body of a request; one with `…` in place of values an answer."""

    def send(text: str, place: Place) -> None:
        answer = None
        for line in joined(text):
            if line.startswith('{"messages": [{'):
                shows(line, answer)
                continue
            ids = [
                put(
                    "orders", b'{"currency": "USD"}', properties={"tenant": "t7"}
                ).message_id
                for _ in range(2)
            ]
            method, path = where.split()
            if "SETTLEMENT" in path:
                got = place.ask("POST", "/api/v1/queues/orders/get", '{"limit": 100}')
                path = path.replace("SETTLEMENT", got["settlement"])
            path = path.replace("MESSAGE", str(ids[0]))
            body = line.replace("4711", str(ids[0])).replace("4712", str(ids[1]))
            answer = place.ask(method, f"/api/v1/{path}", body)

    return send


def answer_of(path: str) -> Callable[[str, Place], None]:
    return lambda text, place: shows(text, place.ask("GET", f"/api/v1/{path}"))


def repair(text: str, place: Place) -> None:
    body = {"tenant": 7, "currency": "USD"}
    properties = {"region": "eu", "custmer": 7}
    one = put(
        "orders",
        json.dumps(body).encode(),
        content_type="application/json",
        properties=properties,
        reply_to="answers",
    ).message_id
    plan = {"kind": "move", "queue": "later", "messages": [one]}
    planned = place.ask("POST", "/api/v1/operations", json.dumps(plan))
    preview = place.ask("PUT", f"/api/v1/operations/{planned['id']}/patch", text)
    assert preview["fits"] == 1
    edit = {"patch": json.loads(text), "reason": "wrong currency"}
    place.ask("POST", f"/api/v1/messages/{one}/edit", json.dumps(edit))


def verify_twice(text: str, place: Place) -> None:
    """The second line has the head that the first prints."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS audit_is_chained IMMEDIATE")
    first, second = text.splitlines()
    run_lines(first, place)
    (head,) = re.findall(r"\d+:[0-9a-f]{64}", place.said[-1])
    run_lines(re.sub(r"\d+:\w+…", head, second), place)


def find(text: str, place: Place) -> None:
    run("find", "-f", text.strip())


def save_rules(text: str, place: Place) -> None:
    file = place.folder / "rules.txt"
    file.write_text(text)
    run("rules", "preview", "DLQ", file)
    run("rules", "save", "DLQ", file, "--user", "admin")


def import_messages(text: str, place: Place) -> None:
    """One line of a file; the page wraps it."""
    file = place.folder / "messages.ndjson"
    file.write_text(text.replace("\n", " ") + "\n")
    run("messages", "import", file, "--yes")


def transform(name: str) -> Callable[[str, Place], None]:
    """Properties of a link's target."""

    def change(text: str, place: Place) -> None:
        pairs = (line.partition("=") for line in text.splitlines())
        given = {key.strip(): value.strip() for key, _, value in pairs}
        one = transformer(name)
        one.check(given)
        context = Context(given, "this-broker", "stomp", "shops", "orders-out")
        assert one.transform(replace(ORDER), context) != ORDER

    return change


def set_roles(text: str, place: Place) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE backout")
        cursor.execute(text)


def load_database(text: str, place: Place) -> None:
    """As ``console.settings`` reads it, and libpq then."""
    _, _, value = text.strip().partition("=")
    read = environ.Env.db_url_config(value)
    hosts = psycopg.conninfo.make_conninfo(
        host=read["HOST"], port=read["PORT"], **read["OPTIONS"]
    )
    assert psycopg.conninfo.conninfo_to_dict(hosts)["host"] == "db1,db2"


def load_conf(text: str, place: Place) -> None:
    for line in text.splitlines():
        (word,) = shlex.split(line)
        assert own_conf.read(word.partition("=")[2])


def watch(text: str, place: Place) -> None:
    """Each alert asks for metrics that there are."""
    there = {one.name for one in collector.FAMILIES}
    for group in yaml.safe_load(text)["groups"]:
        for rule in group["rules"]:
            asked = set(re.findall(r"backout_\w+", rule["expr"]))
            assert asked, rule
            assert asked <= there


def scrape(text: str, place: Place) -> None:
    (job,) = yaml.safe_load(text)["scrape_configs"]
    assert job["static_configs"]


def limit(text: str, place: Place) -> None:
    place.execute(f"from broker.client import consumes\n{text}def bill(d, w): ...")
    assert handlers.HANDLERS["invoices", ""].max_running == 4


def run_in_loop(text: str, place: Place) -> None:
    place.execute(f"from broker.client import consumes\n{text}")
    one = handlers.HANDLERS["mails", ""]
    assert one.is_async
    assert one.concurrency == 200


def wrap(text: str, place: Place) -> None:
    place.execute(text)
    place.settings.BROKER_HANDLER_MIDDLEWARE = [f"{place.module.__name__}.timed"]
    seen: list[object] = []
    handle: Any = wrapped(lambda delivery, work: seen.append(delivery), "ours")
    handle(ORDER, None)
    assert seen == [ORDER]


def connect(text: str, place: Place) -> None:
    options = ast.literal_eval("{" + text + "}")["OPTIONS"]
    given = connection.get_connection_params() | options
    for name in ("cursor_factory", "context"):
        given.pop(name, None)
    with psycopg.connect(**given) as line:
        assert line.execute("SHOW jit").fetchone() == ("off",)


def find_psql(text: str, place: Place) -> None:
    """The client of the embedded server, whatever folder this one runs in."""
    program = joined(text)[0].split(" -h ")[0]
    said = subprocess.run(
        ["bash", "-c", f"{program} --version"],
        cwd=of_django.BASE_DIR, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.startswith("psql")


def handle(text: str, place: Place) -> None:
    """A handler: what waits is processed at once."""
    place.execute(text)
    assert run_ready("orders")
    assert_put("booked")


def consume(text: str, place: Place) -> None:
    """Nobody waits for a message that nobody sends."""
    put("orders", b"in a loop")
    place.execute(text.replace("timeout_s=10", "timeout_s=0.01"))
    assert_put("booked", count=2)


def put_in_a_view(text: str, place: Place) -> None:
    place.execute(text)
    request = RequestFactory().post("/", {"customer": 7}, "application/json")
    assert async_to_sync(place.names["order"])(request).status_code == 200
    assert_put("orders", json={"customer": 7})


def consume_in_a_task(text: str, place: Place) -> None:
    place.execute(text.replace("timeout_s=10", "timeout_s=0.01"))
    async_to_sync(place.names["book_orders"])()
    assert_put("booked", count=1, json={"customer": 7})


def receive(text: str, place: Place) -> None:
    put("orders", b"{}", properties={"region": "north", "amount": 101})
    place.execute(text.replace("timeout_s=5", "timeout_s=0.01"))
    assert_put("booked", count=3)


def load_settings(text: str, place: Place) -> None:
    place.execute(text)
    for name in re.findall(r"^([A-Z_]+) =", text, re.M):
        setattr(place.settings, name, place.names[name])


def connect_celery(text: str, place: Place) -> None:
    load_settings(text, place)
    app = Celery("shop")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    with app.connection_for_write() as line:
        assert line.transport.driver_type == "backout"


def enqueue(text: str, place: Place) -> None:
    """With the import that the page has for this Django."""
    if find_spec("django.tasks") is None:
        text = re.sub(r"from django.tasks import task  # .*: ", "", text)
    place.execute(text)
    assert run_ready()


def repeat(text: str, place: Place) -> None:
    place.names["send_digest"] = place.names["charge"]
    place.execute(text)
    assert RecurringMessage.objects.get().name == "digest"


def pause(text: str, place: Place) -> None:
    stand(Link.objects.get(name="orders-out"), LinkState.STARTED)
    run_lines(text, place)


def encrypt(text: str, place: Place) -> None:
    """The key that the page makes goes in front of the one that there was."""
    old = Fernet.generate_key().decode()
    place.settings.BACKOUT_SECRET_KEYS = [old]
    run("bridge", "import", place.folder / "shops.xml", "--yes")
    place.settings.BACKOUT_SECRET_KEYS = [Fernet.generate_key().decode(), old]
    run_lines(text, place)


OWN: dict[str, dict[str, Callable[[str, Place], None]]] = {
    "README.md": {
        "from broker.client import Delivery": handle,
        "from broker.client import SessionMode": receive,
        "from broker.client import consumer": consume,
    },
    "docs/audit.md": {"python manage.py audit_verify": verify_twice},
    "docs/bridges.md": {
        ".venv/bin/python manage.py backout bridge pause": pause,
        ".venv/bin/python manage.py backout bridge rekey": encrypt,
    },
    "docs/celery.md": {"CELERY_": connect_celery},
    "docs/command-line.md": {'{"format"': import_messages},
    "docs/deployment.md": {"ALTER ROLE": set_roles, "DATABASE_URL=": load_database},
    "docs/django-tasks.md": {
        "# settings.py": load_settings,
        "from django.tasks": enqueue,
        "from broker.client.django_tasks import repeat": repeat,
    },
    "docs/filters.md": {"state:dead": find},
    "docs/install.md": {
        "from django.http": put_in_a_view,
        "from broker.client import aconsumer": consume_in_a_task,
        '@consumes("invoices"': limit,
        '@consumes("mails"': run_in_loop,
        "def timed": wrap,
        '"OPTIONS"': connect,
    },
    "docs/metrics.md": {"scrape_configs": scrape, "groups": watch},
    "docs/operations.md": {
        ".venv/lib/": find_psql,
        ".venv/bin/python manage.py backout bridge rekey": encrypt,
    },
    "docs/repair.md": {"{": repair},
    "docs/rest.md": {
        '{"limit": 10': requests("POST queues/orders/get"),
        '{"outcome"': requests("POST settlements/SETTLEMENT"),
        '{"patch"': requests("POST messages/MESSAGE/edit"),
        '{"kind"': requests("POST operations"),
        '{"until"': requests("POST queues/orders/pause"),
        '{"name"': requests("POST views"),
        '{"max_depth"': requests("PUT queues/orders"),
        '{"queue": "orders", "begin"': answer_of("queues/orders/history?range=24h"),
        '{"reason"': requests("POST bridges/shops/links/orders-out/start"),
    },
    "docs/rules.md": {"*": save_rules},
    "docs/spark-cluster.md": {"BACKOUT_REPORTS_SPARK_CONF": load_conf},
    "docs/transformers.md": {
        "patch =": transform("json-patch"),
        "rename.": transform("headers"),
        "when.1": transform("route"),
    },
}
