"""What a page can do, the API and the command line can do; or it says why not.

The names are those of the URLs. A page that acts and is not in ``ACTS``, or one that
shows something and is not in ``SHOWS``, fails the test. Each way is an operation of the
API, by its id, and a command after ``manage.py backout``; or a reason in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from django.core.management import load_command_class
from django.urls import get_resolver

from tests.console.act_doors import COMMANDS
from tests.console.act_examples import EXAMPLES
from tests.console.acts import PAGES
from tests.console.audit.test_audited import EXCUSED, METHODS, named

OWN = "it is about the account of whoever is signed in"
PLAN = "plan_operation, start_operation"
WORD = re.compile(r"[a-z_]+(?:, [a-z_]+)*")


class Ways(NamedTuple):
    """How else a page's deed is done, or a reason why it is not."""

    operations: str  # ids, or a reason
    commands: str  # with commas between them, or a reason

    @property
    def ids(self) -> list[str]:
        return self.operations.split(", ") if WORD.fullmatch(self.operations) else []

    @property
    def words(self) -> list[str]:
        """The commands; none if it is a reason, which is a sentence."""
        return [] if self.commands.startswith("no: ") else self.commands.split(", ")


def by_page() -> dict[str, list[str]]:
    """Declared acts by the pages that order them."""
    acts: dict[str, list[str]] = {}
    for name, example in EXAMPLES.items():
        acts.setdefault(example.page, []).append(name)
    return acts


NONE = Ways(f"no: {OWN}", f"no: {OWN}")
OTHERS: Mapping[str, Ways] = {
    **dict.fromkeys(
        (
            *("account_login", "account_reauthenticate", "single_sign_on"),
            *("mfa_authenticate", "mfa_activate_totp", "mfa_deactivate_totp"),
            *("mfa_generate_recovery_codes", "mfa_add_webauthn", "mfa_edit_webauthn"),
            *("mfa_remove_webauthn", "console:logout", "console:password_change"),
            *("console:end_session", "console:theme", "console:density"),
            *("console:zone", "console:refresh", "console:times"),
            "console:language",
            *("console:queue_columns", "console:own_columns"),
        ),
        NONE,
    ),
    "console:new_queue": Ways("define_queue", "queue create"),
    "console:new_link": Ways(
        "define_bridge, define_connection_factory, define_destination, define_link",
        "bridge create, connection-factory create, destination create, link create",
    ),
    "console:send": Ways("put_message", "put"),
    "console:import_messages": Ways("put_messages", "messages import"),
    **dict.fromkeys(
        ("console:order", "console:order_found", "console:order_letters"),
        Ways(PLAN, "operation plan, move, purge"),
    ),
    "console:unmask": Ways(
        "read_message", "browse, get, message show, messages export"
    ),
    "console:rule_table": Ways(
        "save_rules, preview_rules", "rules save, rules preview"
    ),
    **dict.fromkeys(
        ("console:silence_alert", "console:silence_cause"),
        Ways("silence_alerts", "alert silence"),
    ),
}
ACTS: Mapping[str, Ways] = {
    **{
        page: Ways(", ".join(acts), ", ".join(" ".join(COMMANDS[one]) for one in acts))
        for page, acts in by_page().items()
    },
    **OTHERS,
}
SHOWS: Mapping[str, Ways] = {
    **dict.fromkeys(
        (
            *("console:preferences", "console:password_change_done", "mfa_index"),
            *("mfa_view_recovery_codes", "mfa_download_recovery_codes"),
            "single_sign_on_callback",
        ),
        NONE,
    ),
    **dict.fromkeys(
        ("console:complete", "console:go", "console:connect", "console:api_reference"),
        Ways("no: it helps with pages", "no: it helps with pages"),
    ),
    "console:api_part": Ways("no: openapi.json has it", "no: --help has it"),
    **dict.fromkeys(
        ("console:alive", "console:ready", "console:metrics"),
        Ways("no: it is for programs already", "no: it is for programs already"),
    ),
    "console:overview": Ways(
        "list_problems, read_total_history", "problems, history total"
    ),
    "console:depths": Ways("list_queues", "queues"),
    "console:history": Ways(
        "read_history, read_total_history, read_link_history",
        "history queue, history total",
    ),
    "console:queues": Ways("list_queues", "queues"),
    "console:topology": Ways("read_topology", "topology"),
    "console:queue": Ways("read_queue, browse_queue", "browse, queue show"),
    "console:messages": Ways("find_messages, count_messages", "find, count"),
    "console:export": Ways("export_messages", "messages export"),
    "console:message": Ways(
        "read_message, explain_message, list_related_messages",
        "message show, message explain, message related",
    ),
    "console:body": Ways("read_message", "message show"),
    "console:data": Ways("read_message", "message show"),
    "console:compare": Ways("read_message", "message show"),
    "console:by_client_id": Ways("find_messages", "find"),
    "console:view": Ways("read_view", f"no: {OWN}"),
    "console:dead_letters": Ways(
        "list_letters, list_groups", "dead-letter list, dead-letter-group list"
    ),
    "console:dead_letter_group": Ways("read_group", "dead-letter-group show"),
    "console:rules": Ways("list_rules", "rules list"),
    "console:export_rules": Ways("read_rules", "rules show"),
    "console:alerts": Ways(
        "list_alerts, list_problems, list_silences",
        "alert list, problems, alert silences",
    ),
    "console:alert": Ways("read_alert", "alert show"),
    "console:discards": Ways("list_discards", "discard list"),
    "console:bridges": Ways("list_bridges", "bridge list"),
    "console:link": Ways("read_link, list_link_branches", "link branches"),
    "console:consumers": Ways("list_consumers", "consumer list"),
    "console:connections": Ways("list_connections", "connection list"),
    "console:connection": Ways("read_connection", "connection list"),
    "console:credentials": Ways("list_credentials", "credential list"),
    "console:effective": Ways("read_settings", "setting list"),
    "console:health": Ways("read_health, list_problems", "problems, prepared list"),
    "console:operations": Ways("list_operations", "operation list"),
    "console:operation": Ways("read_operation, read_items", "operation show"),
    "console:audit": Ways("list_records", "audit list"),
    "console:audit_export": Ways("list_records", "audit list"),
    "console:audit_record": Ways("list_records", "audit list"),
    "console:scheduled": Ways("list_scheduled", "scheduled list"),
    "console:tasks": Ways("list_tasks", "task list"),
    "console:recurring": Ways("list_recurring", "recurring list"),
    "console:units": Ways("list_units_of_work", "uow list"),
    "console:unit": Ways("read_unit_of_work", "uow show"),
    "console:rights": Ways("read_rights", f"no: {OWN}"),
    "dashboards:reports": Ways("list_reports", "no: manage.py run_report prints them"),
    "dashboards:report": Ways(
        "read_report, list_rows", "no: manage.py run_report prints them"
    ),
    "dashboards:export": Ways("list_rows", "no: manage.py run_report prints them"),
}


def test_every_page_that_acts_is_thought_of() -> None:
    assert ACTS.keys() == PAGES.keys() | EXCUSED.keys()


def test_every_page_that_shows_something_is_thought_of() -> None:
    every = {name for name, _ in named(get_resolver())}
    assert SHOWS.keys() == every - ACTS.keys()


@pytest.mark.parametrize(("name", "way"), [*ACTS.items(), *SHOWS.items()])
def test_each_way_is_there_or_a_reason(name: str, way: Ways) -> None:
    backout = load_command_class("console", "backout")
    assert way.ids or way.operations.startswith("no: "), name
    assert set(way.ids) <= METHODS.keys(), name
    for words in way.words:
        backout.get_subcommand(*words.split())  # type: ignore[attr-defined]


def test_an_act_changes_something_by_the_api_as_well() -> None:
    methods = {
        name: {METHODS[one] for one in way.ids}
        for name, way in ACTS.items()
        if way.ids and name != "console:unmask"  # a reason in a query lifts the masks
    }
    assert {name for name, found in methods.items() if "get" in found} == set()


def test_no_operation_that_changes_something_is_on_no_page() -> None:
    """But for what programs do with messages, and what Settings define."""
    used = {one for way in ACTS.values() for one in way.ids}
    changing = {one for one, method in METHODS.items() if method != "get"}
    left = {one for one in changing - used if one.split("_")[0] not in SETTINGS}
    assert left == PROGRAMS


SETTINGS = {"define", "change", "delete", "import"}
PROGRAMS = {
    *("get_messages", "settle_messages", "renew_lease"),
    *("get_in_branch", "give_back_branches", "put_batch", "prepare_puts"),
    *("prepare_branch", "accept_branch", "release_branch"),
    *("commit_branch", "back_out_branch"),
}
