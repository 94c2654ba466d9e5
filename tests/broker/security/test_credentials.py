"""Credentials: names and secrets of machines, and what they narrow."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from broker.amqp.clients import permission_cache
from broker.formats.wildcards import ANY_WORDS, check_pattern, matches, overlap
from broker.models import Credential
from broker.security import credentials
from broker.security.authorities import ALL, NOTHING
from tests.make import NOON, make_user, minutes, seconds

DB = pytest.mark.django_db


def made(**fields: Any) -> tuple[Credential, str]:
    user = fields.pop("user", None) or make_user()
    return credentials.create(fields.pop("name", "billing"), user, **fields)


# Secrets.


@DB
def test_a_secret_is_random_and_shown_once() -> None:
    ada = make_user("ada")
    credential, secret = made(by=ada)
    _, other = made(name="shipping", user=ada)

    assert secret.startswith("bo_")
    assert len(bytes.fromhex(secret[3:])) * 8 == 256
    assert secret != other
    row = Credential.objects.values().get(pk=credential.pk)
    assert row["created_by_id"] == ada.pk
    assert not any(secret.encode() in bytes(str(one), "utf-8") for one in row.values())
    assert bytes(row["secret_sha256"]) == hashlib.sha256(secret.encode()).digest()


@DB
def test_only_the_secret_itself_is_let_in() -> None:
    credential, secret = made()

    found = credentials.verify("billing", secret)
    assert found == credential
    assert found is not None
    assert found.user.username == "omar"
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), "\0", "\ud800", "é"):
        assert credentials.verify("billing", wrong) is None


@DB
@pytest.mark.parametrize(
    "name", ["", "Billing", "shipping", "billing\0", "\ud800", "x" * 10_000, "' OR 1"]
)
def test_an_unknown_name_costs_the_same_query(
    name: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    _, secret = made()

    with django_assert_num_queries(1):
        assert credentials.verify(name, secret) is None
    with django_assert_num_queries(1):
        assert credentials.verify(name, "") is None
    with django_assert_num_queries(1):
        assert credentials.scram_of(name) is None
    with django_assert_num_queries(1):
        assert credentials.verify("billing", secret) is not None


@DB
def test_a_revoked_credential_is_let_in_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    credential, secret = made()
    ada = make_user("ada")

    with caplog.at_level(logging.INFO, "broker.security.credentials"):
        assert credentials.revoke(credential, ada)

    assert caplog.messages == ["Credential billing was revoked by ada."]
    assert credentials.verify("billing", secret) is None
    assert credentials.scram_of("billing") is None
    first = Credential.objects.get()
    assert first.revoked_by == ada
    assert not credentials.revoke(credential, make_user("vera"))
    again = Credential.objects.get()
    assert (again.revoked_at, again.revoked_by) == (first.revoked_at, ada)


@DB
def test_an_expired_credential_is_let_in_no_more() -> None:
    _, secret = made(expires_at=NOON)

    assert credentials.verify("billing", secret, now=NOON - seconds(1)) is not None
    assert credentials.verify("billing", secret, now=NOON) is None
    assert credentials.scram_of("billing", now=NOON) is None


@DB
def test_who_is_not_active_is_not_let_in_by_a_credential() -> None:
    _, secret = made()
    User.objects.update(is_active=False)

    assert credentials.verify("billing", secret) is None
    assert credentials.scram_of("billing") is None


@DB
@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "no blanks"},
        {"name": "-first"},
        {"name": "x" * 101},
        {"name": "taken"},
        {"patterns": ""},
        {"patterns": "a.#.b"},
        {"patterns": "orders\nord*"},
    ],
)
def test_what_cannot_be_a_credential_is_refused(fields: dict[str, Any]) -> None:
    user = make_user()
    made(name="taken", user=user)

    with pytest.raises(ValidationError):
        made(user=user, **fields)

    assert Credential.objects.count() == 1


# SCRAM.


@DB
def test_the_keys_of_scram_prove_the_secret() -> None:
    """As a client computes them.

    Source:
        RFC 5802, section 3.
    """
    _, secret = made()
    keys = credentials.scram_of("billing")
    assert keys is not None
    salt, iterations, stored_key, server_key = keys

    assert iterations == 4096
    assert len(salt) == 16
    salted = hashlib.pbkdf2_hmac("sha256", secret.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    message = b"what both have said"
    proof = bytes(
        one ^ other
        for one, other in zip(
            client_key, hmac.digest(stored_key, message, "sha256"), strict=False
        )
    )
    opened = bytes(
        one ^ other
        for one, other in zip(
            proof, hmac.digest(stored_key, message, "sha256"), strict=False
        )
    )
    assert hashlib.sha256(opened).digest() == stored_key
    assert server_key == hmac.digest(salted, b"Server Key", "sha256")


def test_the_keys_of_scram_are_those_of_the_rfc() -> None:
    """Source: RFC 7677, section 3, whose exchange these keys must give."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    said = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )

    keys = credentials.scram("pencil", salt)

    signature = hmac.digest(keys.server_key, said, "sha256")
    assert base64.b64encode(signature) == (
        b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    )
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    mask = hmac.digest(keys.stored_key, said, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, mask, strict=True))
    assert hashlib.sha256(client_key).digest() == keys.stored_key


# When it was used.


@DB
def test_its_last_use_is_written_once_a_minute() -> None:
    credential, _ = made()

    seen = []
    for after in (0, 59, 60, 100, 121):
        credentials.used(credential, now=NOON + seconds(after))
        seen.append(Credential.objects.get().last_used_at)

    assert seen == [
        NOON,
        NOON,
        NOON + minutes(1),
        NOON + minutes(1),
        NOON + seconds(121),
    ]
    credentials.used(credential)  # by the database's clock
    assert Credential.objects.get().last_used_at not in (None, seen[-1])


# What it narrows.


def held_by(credential: Credential, now: datetime | None = None) -> Any:
    """By whoever logs in with it; None where nobody can."""
    key = permission_cache.Key(credential.user_id, credential.pk)
    return permission_cache.look([key], now=now)[key]


def what(credential: Credential, queue: str) -> set[str]:
    held = held_by(credential) or NOTHING
    return {one for one in ALL if held.on(one, queue)}


GETS, PUTS, BROWSES = {"get"}, {"put", "passall"}, {"browse"}


@DB
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, {"inquire", *GETS, *PUTS, *BROWSES}),
        ({"may_get": False}, {"inquire", *PUTS, *BROWSES}),
        ({"may_put": False}, {"inquire", *GETS, *BROWSES}),
        ({"may_browse": False}, {"inquire", *GETS, *PUTS}),
    ],
)
def test_a_credential_is_for_what_its_flags_say(
    flags: dict[str, bool], expected: set[str]
) -> None:
    credential, _ = made(**flags)

    assert what(credential, "orders") == expected
    held = held_by(credential)
    assert held is not None
    assert held.everywhere("inquire")


@DB
def test_a_credential_never_has_more_than_its_user() -> None:
    omar = make_user(granted=("get",), pattern="orders.#")
    credential, _ = made(user=omar, patterns="orders.eu\norders.us.*\nbills")

    assert what(credential, "orders.eu") == GETS
    assert what(credential, "orders.us.west") == GETS
    for beyond in ("orders", "orders.us", "orders.eu.x", "bills", "other"):
        assert what(credential, beyond) == set()


@DB
def test_a_superuser_s_credential_is_narrowed_too() -> None:
    ada = User.objects.create_superuser("ada")
    credential, _ = made(user=ada, patterns="orders", may_put=False)

    assert what(credential, "orders") == {"inquire", *GETS, *BROWSES}
    assert what(credential, "bills") == set()
    held = held_by(credential)
    assert held is not None
    assert not held.everywhere("get")


@DB
def test_what_a_credential_is_for_is_what_the_database_says_now(
    statements: list[str],
) -> None:
    credential, _ = made(expires_at=NOON)
    early, late = NOON - seconds(1), NOON

    before = held_by(credential, early)
    assert statements == ["held_by"]
    assert before is not None
    assert before.on("get", "orders")
    assert held_by(credential, late) is None
    assert held_by(credential) is None  # by the real clock
    Credential.objects.update(patterns="bills")
    narrower = held_by(credential, early)
    assert narrower is not None
    assert not narrower.on("get", "orders")
    Credential.objects.update(patterns="#", revoked_at=early)
    assert held_by(credential, early) is None
    Credential.objects.update(revoked_at=None)
    assert held_by(credential, early) == before
    User.objects.update(is_active=False)
    assert held_by(credential, early) is None
    User.objects.update(is_active=True)
    Credential.objects.all().delete()
    assert held_by(credential, early) is None


WORDS = st.sampled_from(["a", "b", "*"])
PATTERNS = st.builds(
    lambda words, ends: ".".join([*words, *(["#"] if ends or not words else [])]),
    st.lists(WORDS, max_size=4),
    st.booleans(),
)
NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(".".join)


@given(PATTERNS, PATTERNS, NAMES)
def test_an_overlap_matches_what_both_match(one: str, other: str, name: str) -> None:
    both = overlap(one, other)

    assert both == overlap(other, one)
    if both is not None:
        check_pattern(both)
    is_in = both is not None and matches(both, name)
    assert is_in == (matches(one, name) and matches(other, name))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("#", "#", ANY_WORDS),
        ("#", "a.b", "a.b"),
        ("a.#", "a", "a"),
        ("a.#", "*.b.#", "a.b.#"),
        ("a.*", "*.b", "a.b"),
        ("a.*", "a", None),
        ("a", "b", None),
        ("a.b.#", "a", None),
    ],
)
def test_overlaps_as_people_write_them(one: str, other: str, both: str | None) -> None:
    assert overlap(one, other) == both
