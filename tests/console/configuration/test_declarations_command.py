"""``backout apply`` and its like, and the subcommands for each kind of object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError

from broker.models import AddressSetting, AuditRecord, Authority, Discarded, Queue
from broker.queueing.put import put
from console.accounts import roles
from tests.console.commanding import refused, run, told
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

FILE = """
[queues.orders]
max_depth = 10
[queues.DLQ]
[settings."#"]
dead_letter_address = "DLQ"
redelivery_delay = "5 s"
[users.shop]
groups = ["viewer"]
[authorities."user:shop"]
orders = ["put"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "backout.toml"
    path.write_text(FILE)
    return path


def code(*arguments: object) -> int:
    try:
        run(*arguments)
    except CommandError as end:
        return end.returncode
    return 0


def test_a_file_is_planned_applied_and_then_changes_nothing(file: Path) -> None:
    said = run("apply", file)
    assert "+ queue orders\n    address: 'orders'\n    max_depth: 10\n" in said
    assert "    redelivery_delay_ms: 5000\n" in said
    assert "Nothing is done yet; --yes does it." in said
    assert not Queue.objects.exists()
    assert code("apply", file, "--plan") == 4

    first = told("apply", file, "--yes")
    assert [
        f"{one['verb']} {one['kind']} {one['key']}" for one in first["changes"]
    ] == [
        *("create address DLQ", "create address orders"),
        *("create queue orders", "create queue DLQ", "create setting #"),
        *("create user shop", "create authority user:shop orders"),
    ]
    shop = User.objects.get(username="shop")
    assert [one.name for one in shop.groups.all()] == ["viewer"]
    assert not shop.has_usable_password()
    assert Authority.objects.get(user=shop).may_put

    nothing = {"applied": True, "changes": [], "warnings": []}
    assert told("apply", file, "--yes") == nothing
    assert run("apply", file, "--plan") == "There is nothing to change.\n"
    assert code("apply", file, "--plan") == 0


def test_what_is_exported_changes_nothing(file: Path) -> None:
    run("apply", file, "--yes")
    file.write_text(run("export"))

    assert '[users.shop]\ngroups = ["viewer"]' in file.read_text()
    assert code("apply", file, "--plan", "--prune") == 0


def test_what_a_file_does_not_have_is_pruned_but_for_accounts(file: Path) -> None:
    run("apply", file, "--yes")
    make_queue("old")
    put("old")
    file.write_text("[queues.orders]\n[queues.DLQ]\n[users]\n[addresses]\n")

    (queue, address) = told("apply", file, "--prune")["changes"]
    assert (queue["verb"], queue["key"], queue["messages"]) == ("delete", "old", 1)
    assert address["kind"] == "address"
    assert "holds 1 message." in refused("apply", file, "--prune", "--yes")[1]
    run("apply", file, "--prune", "--purge", "--yes")

    assert not Queue.objects.filter(name="old").exists()
    assert Discarded.objects.count() == 1
    assert User.objects.filter(username="shop").exists()


def test_a_queue_is_created_altered_shown_and_deleted() -> None:
    said = run(
        "queue",
        "create",
        "orders",
        "--max-message-bytes",
        "2 MB",
        "--no-harden-backout",
    )
    assert said.startswith("+ queue orders\n") or "+ queue orders\n" in said
    assert (
        "There is the queue 'orders' already" in refused("queue", "create", "orders")[1]
    )
    run("queue", "create", "orders", "--max-depth", 5, "--replace")

    assert "--yes" in run("queue", "alter", "orders", "--max-depth", 7)
    run(
        "queue",
        "alter",
        "orders",
        "--max-depth",
        7,
        "--unset",
        "max-message-bytes",
        "--yes",
    )
    assert code("queue", "alter", "orders", "--max-depth", 7, "--yes") == 3
    shown = told("queue", "show", "orders")
    assert (shown["max_depth"], shown["max_message_bytes"]) == (7, None)
    assert shown["harden_backout"] is False
    assert "max_depth: 7\n" in run("queue", "show", "orders")
    assert told("queue", "list")["queues"][0]["name"] == "orders"
    assert "max_depth 7" in run("queue", "list")

    put("orders")
    assert "(1 message: refused without --purge)" in run("queue", "delete", "orders")
    assert refused("queue", "delete", "orders", "--yes")[0] == 1
    run("queue", "delete", "orders", "--purge", "--yes")
    assert not Queue.objects.exists()
    assert refused("queue", "delete", "orders")[1].startswith(
        "There is no queue 'orders'"
    )
    assert refused("queue", "show", "orders")[0] == 1
    assert code("queue", "list") == 3


def test_settings_aliases_authorities_and_users_have_the_same_subcommands() -> None:
    run("address", "create", "news")
    run("setting", "create", "news", "--redelivery-delay", "10 min")
    run("alias", "create", "OLD", "--target", "news")
    run("user", "create", "shop", "--groups", "viewer", "--groups", "auditor")
    run("authority", "create", "user:shop", "news", "--may", "put", "--may", "get")
    run("model", "create", "M", "--permanent")

    assert AddressSetting.objects.get().redelivery_delay_ms == 600_000
    assert told("user", "show", "shop")["groups"] == ["auditor", "viewer"]
    assert told("authority", "show", "user:shop", "news")["may"] == ["get", "put"]
    assert refused("setting", "create", "x", "--redelivery-delay", "5")[0] == 1
    assert refused("queue", "create", "x", "--no-such")[0] == 2
    run("user", "alter", "shop", "--no-active", "--yes")
    assert not User.objects.get(username="shop").is_active
    for words in (
        ("authority", "delete", "user:shop", "news"),
        ("user", "delete", "shop"),
    ):
        run(*words, "--yes")
    assert not User.objects.exists()


def test_a_user_needs_the_permission_and_grants_no_more_than_they_have(
    file: Path,
) -> None:
    make_user("omar", permissions=tuple(roles.OPERATOR))
    make_user("ada", permissions=tuple(roles.ADMINISTRATOR))
    make_user("root", permissions=tuple(roles.ADMINISTRATOR))
    User.objects.filter(username="root").update(is_superuser=True)

    code_, why = refused("apply", file, "--yes", "--user", "omar")
    assert (code_, "broker.add_address" in why) == (1, True)
    assert "broker.add_address" in refused("queue", "create", "x", "--user", "omar")[1]
    run("apply", file, "--yes", "--user", "ada")
    assert AuditRecord.objects.latest("pk").actor == "ada"
    stronger = refused("user", "alter", "root", "--no-active", "--yes", "--user", "ada")
    assert "has permissions that you lack" in stronger[1]


def test_files_of_other_brokers_are_converted(tmp_path: Path) -> None:
    script = tmp_path / "queues.mqsc"
    script.write_text("DEFINE QLOCAL('orders') MAXDEPTH(7)")
    file = tmp_path / "backout.toml"

    file.write_text(run("convert", "mqsc", script))

    assert told("apply", file, "--yes")["applied"]
    assert Queue.objects.get().max_depth == 7
    assert refused("convert", "kafka", script)[0] == 2


def test_a_file_that_is_wrong_or_missing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "backout.toml"
    assert "cannot be read" in refused("apply", file)[1]
    file.write_text("[queues.orders]\ndepth = 3")
    assert refused("apply", file)[1].startswith(
        "Queues.orders, depth: There is no such"
    )
    with pytest.raises(CommandError):
        json.loads(run("apply", file, "--json"))
