"""Who may ask for what: every endpoint, asked by everybody, against a table.

The table is ``authorization.txt``. An endpoint without a line fails, and a line without
an endpoint. What a line says is what was decided: read it before it is changed.

With ``WRITE_AUTHORIZATION=1`` in the environment this module writes what is so into the
table, for a person to read the difference. A new endpoint is given a line by hand: its
method and path.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.files import File
from django.db import connection, transaction

from tests.console.consumers.endpoints import (
    Endpoint,
    operations,
    pages,
    patterns,
    some,
)
from tests.console.principals import (
    MACHINE,
    NAMES,
    READERS,
    Principal,
    make_principals,
)
from tests.console.world import Values, act, ask, is_an_act, make_world, question

pytestmark = pytest.mark.thorough

TABLE = Path(__file__).with_name("authorization.txt")
WRITES = "WRITE_AUTHORIZATION" in os.environ
NOTED = {  # that it was denied, or when it came
    *("broker_audit", "broker_credential", "console_browsersession"),
}
OWN = {  # what changes nothing but for whoever asks, and what only reads
    *("account_login", "console:logout", "console:password_change", "console:unnamed"),
    *("console:theme", "console:density", "console:zone", "preview_rules"),
    "console:language",
    *("console:refresh", "console:times", "console:queue_columns"),
    "console:own_columns",
    *("console:end_session", "console:save_view", "save_view"),
    *("account_reauthenticate", "mfa_authenticate", "mfa_view_recovery_codes"),
    "mfa_download_recovery_codes",
    *("mfa_index", "mfa_activate_totp", "mfa_deactivate_totp", "mfa_add_webauthn"),
    *("mfa_generate_recovery_codes", "mfa_edit_webauthn", "mfa_remove_webauthn"),
}
DENIED = {"login", "401", "403", "404", "405"}
OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
Line = tuple[Endpoint, dict[str, str]]


def lines() -> list[Line]:
    """What the table says, by principal."""
    names = dict(patterns())
    known = {(one.method, one.route): one for one in operations()}
    every = TABLE.read_text().splitlines()
    head, *rows = [row.split() for row in every if row[:1] not in ("", "#")]
    assert WRITES or tuple(head) == ("method", "path", *NAMES)
    found = []
    for method, path, *cells in rows:
        method, route = method.lower(), path.removeprefix("/")
        endpoint = known.get((method, route)) or Endpoint(
            method, route, names.get(route, "none")
        )
        found.append((endpoint, dict(zip(NAMES, cells, strict=not WRITES))))
    return found


def write(found: list[Line]) -> None:
    """The table anew, below what it says of itself."""
    said = [row for row in TABLE.read_text().splitlines() if row.startswith("#")]
    rows = [("method", "path", *NAMES)]
    for endpoint, cells in sorted(found, key=lambda line: line[0].route):
        method, path = str(endpoint).split()
        rows.append((method, path, *(cells[name] for name in NAMES)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        columns = zip(row, widths, strict=True)
        said.append("  ".join(word.ljust(width) for word, width in columns).rstrip())
    TABLE.write_text("\n".join(said) + "\n")


LINES = lines()
ACTS = [one for one, _ in LINES if is_an_act(one)]
LOOKS = [one for one, _ in LINES if not is_an_act(one)]


@pytest.fixture
def principals(db: None) -> dict[str, Principal]:
    return make_principals()


def cell(answer: Any) -> str:
    """An answer as the table has it."""
    if answer.status_code == 302 and "/accounts/login/?next=" in answer["Location"]:
        return "login"
    return str(answer.status_code)


def written() -> dict[str, int]:
    """How many rows this transaction has written so far, by table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(pg_partition_root(relid), relid)::regclass::text,"
            " sum(n_tup_ins + n_tup_upd + n_tup_del)::int"
            " FROM pg_stat_xact_user_tables GROUP BY 1"
        )
        return dict(cursor.fetchall())


def asked(
    who: Principal, endpoint: Endpoint, url: str, said: Values | bytes, **more: Any
) -> tuple[str, set[str]]:
    """What somebody is answered, and the tables that it wrote to; it is undone."""
    before = written() if who.name in READERS else {}
    for file in said.values() if isinstance(said, dict) else ():
        if isinstance(file, File):
            file.seek(0)  # somebody else has sent it already
    with transaction.atomic():
        found = cell(ask(who.client(), endpoint, url, said, **more))
        after = written() if who.name in READERS else {}
        transaction.set_rollback(True)
    return found, {name for name in after if after[name] != before.get(name, 0)}


def answers(
    principals: dict[str, Principal],
    endpoint: Endpoint,
    url: str,
    said: Values | bytes,
) -> dict[str, str]:
    """What everybody is answered; of those who only read it is made sure that they
    write nothing."""
    found = {}
    for name, who in principals.items():
        found[name], tables = asked(who, endpoint, url, said)
        if name in READERS and endpoint.name not in OWN:
            assert tables <= NOTED, f"{name} wrote: {endpoint}"
            assert endpoint.method == "get" or found[name] in DENIED, endpoint
    return found


def assert_as_decided(found: list[Line]) -> None:
    """All that differs is told at once."""
    table = {str(endpoint): cells for endpoint, cells in LINES}
    if WRITES:
        for endpoint, cells in found:
            table[str(endpoint)].update(cells)
        write(LINES)
    differs = {
        f"{endpoint} as {name}": f"{cells[name]}, not {table[str(endpoint)][name]}"
        for endpoint, cells in found
        for name in NAMES
        if cells[name] != table[str(endpoint)].get(name)
    }
    assert differs == {}


def test_the_table_has_a_line_for_every_endpoint_and_no_other(
    principals: dict[str, Principal],
) -> None:
    ada = principals["administrator"]

    def status_of(method: str, url: str) -> int:
        with transaction.atomic():
            answer = ada.client().generic(method.upper(), url)
            transaction.set_rollback(True)
        return answer.status_code

    every = [*pages(status_of), *operations()]
    assert sorted(map(str, every)) == sorted(str(endpoint) for endpoint, _ in LINES)


@pytest.mark.parametrize("few", some(ACTS, 30))
def test_who_may_act(principals: dict[str, Principal], few: list[Endpoint]) -> None:
    found = []
    for endpoint in few:
        with transaction.atomic():
            url, said = act(endpoint, principals["administrator"].client())
            found.append((endpoint, answers(principals, endpoint, url, said)))
            transaction.set_rollback(True)

    assert_as_decided(found)


@pytest.mark.parametrize("few", some(LOOKS, 40))
def test_who_may_look(principals: dict[str, Principal], few: list[Endpoint]) -> None:
    world = make_world(principals["administrator"].client())

    assert_as_decided(
        [
            (endpoint, answers(principals, endpoint, *question(endpoint, world)))
            for endpoint in few
        ]
    )


@pytest.mark.parametrize("reader", READERS)
def test_a_method_in_a_header_is_not_heard(
    principals: dict[str, Principal], reader: str
) -> None:
    """Of those who only read, nobody writes by saying another method."""
    world = make_world(principals["administrator"].client())
    for endpoint in [one for one, _ in LINES if one.method not in ("get", "post")]:
        url, said = question(endpoint, world)
        headers = dict.fromkeys(OVERRIDES, endpoint.method.upper())
        assert isinstance(said, dict), "what is no JSON is posted"
        body = {**said, "_method": endpoint.method}
        by = endpoint._replace(method="post")
        found, tables = asked(principals[reader], by, url, body, headers=headers)
        assert endpoint.name in OWN or found in DENIED, endpoint
        assert tables <= NOTED, endpoint


def test_a_machine_is_denied_what_its_user_is_denied() -> None:
    for endpoint, cells in LINES:
        if endpoint.is_of_the_api and cells["operator"] in DENIED:
            assert cells[MACHINE] in DENIED, endpoint
