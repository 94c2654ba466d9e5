"""Who may do what on which queue: the sum of what was granted, as it is now."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import IntegrityError, transaction

from broker.errors.mq_codes import Reason
from broker.errors.queues import NotAuthorized
from broker.models import Authority
from broker.security import authorities
from broker.security.authorities import ALL, allowed, held_by, may, require
from tests.make import make_authority, make_user

pytestmark = pytest.mark.django_db


def omar(*granted: authorities.Authority, pattern: str = "#") -> User:
    return make_user("omar", granted=granted, pattern=pattern)


def what(user: authorities.Principal, queue: str) -> set[str]:
    return {one for one in ALL if may(user, one, queue)}


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize("granted", ALL)
def test_each_authority_is_granted_alone(granted: authorities.Authority) -> None:
    assert what(omar(granted), "orders") == {granted}


def test_what_was_never_granted_may_not_be_done() -> None:
    assert what(User.objects.create_user("noor"), "orders") == set()


def test_an_application_s_own_code_may_all() -> None:
    assert what(None, "orders") == set(ALL)
    require(None, "set", "orders")


def test_superusers_may_all_without_a_row() -> None:
    assert what(User.objects.create_superuser("ada"), "orders") == set(ALL)


def test_who_is_not_active_or_not_known_may_nothing() -> None:
    gone = User.objects.create_superuser("gone", is_active=False)
    left = omar(*ALL)
    User.objects.filter(pk=left.pk).update(is_active=False)

    assert what(gone, "orders") == set()
    assert what(left, "orders") == set()
    assert what(AnonymousUser(), "orders") == set()


@pytest.mark.parametrize(
    ("pattern", "queue", "is_covered"),
    [
        ("#", "orders", True),
        ("orders", "orders", True),
        ("orders", "orders.eu", False),
        ("orders.#", "orders", True),
        ("orders.#", "orders.eu.north", True),
        ("orders.*", "orders.eu", True),
        ("orders.*", "orders.eu.north", False),
        ("*.eu", "orders.eu", True),
        ("Orders", "orders", False),
    ],
)
def test_a_pattern_covers_queues_as_it_covers_addresses(
    pattern: str, queue: str, is_covered: bool
) -> None:
    assert may(omar("get", pattern=pattern), "get", queue) == is_covered


def test_authorities_of_a_user_and_of_all_groups_accumulate() -> None:
    user = omar("inquire", pattern="orders")
    granted: authorities.Authority
    for name, pattern, granted in (
        ("clerks", "orders.#", "get"),
        ("auditors", "*", "browse"),
    ):
        group = Group.objects.create(name=name)
        user.groups.add(group)
        make_authority(group, granted, pattern=pattern)
    strangers = Group.objects.create(name="strangers")
    make_authority(strangers, *ALL)
    make_user("vera").groups.add(strangers)

    assert what(user, "orders") == {"inquire", "get", "browse"}
    assert what(user, "orders.eu") == {"get"}
    assert what(user, "bills") == {"browse"}


def test_a_narrower_row_takes_nothing_away() -> None:
    user = omar(*ALL)
    make_authority(user, "inquire", pattern="orders")

    assert what(user, "orders") == set(ALL)


def test_a_change_counts_at_once() -> None:
    user = omar("get")
    assert may(user, "get", "orders")

    Authority.objects.update(may_get=False, may_put=True)

    assert what(user, "orders") == {"put"}
    User.objects.update(is_superuser=True)
    assert what(user, "orders") == set(ALL)


@pytest.mark.spec("POISON-12")
def test_a_refusal_says_who_may_not_do_what_where() -> None:
    user = omar("inquire")

    with pytest.raises(NotAuthorized) as refused:
        require(user, "passall", "orders")

    assert str(refused.value) == (
        "omar lacks the authority 'passall' on queue 'orders'. An administrator can"
        " grant it under Settings, Authorities."
    )
    assert refused.value.reason == Reason.NOT_AUTHORIZED
    assert int(refused.value.reason) == 2035
    with pytest.raises(NotAuthorized, match="Somebody without a name lacks"):
        require(AnonymousUser(), "get", "orders")


def test_several_queues_are_required_together() -> None:
    user = omar("get", pattern="orders.#")

    require(user, "get", "orders", "orders.eu")
    with pytest.raises(NotAuthorized) as refused:
        require(user, "get", "orders", "bills", "orders.eu")

    assert refused.value.queue == "bills"


def test_lists_are_cut_to_what_somebody_may(statements: list[str]) -> None:
    user = omar("inquire", pattern="orders.#")
    make_authority(user, "inquire", pattern="bills")
    queues = [f"orders.{number}" for number in range(100)] + ["bills", "pay"]

    seen = allowed(user, "inquire", queues)

    assert statements == ["held_by"]
    assert seen == set(queues) - {"pay"}
    assert allowed(user, "get", queues) == set()


def test_a_check_is_one_query(statements: list[str]) -> None:
    user = omar("get")
    for number in range(5):
        group = Group.objects.create(name=f"group {number}")
        user.groups.add(group)
        make_authority(group, "put", pattern=f"orders.{number}")

    require(user, "put", *(f"orders.{number}" for number in range(5)))

    assert statements == ["held_by"]


def test_everywhere_is_more_than_on_all_queues_there_are() -> None:
    assert held_by(omar("inquire")).everywhere("inquire")
    assert not held_by(omar_of_orders()).everywhere("inquire")
    assert held_by(None).everywhere("set")


def omar_of_orders() -> User:
    return make_user("omar of orders", granted=("inquire",), pattern="orders.#")


def test_a_row_is_of_one_user_or_one_group() -> None:
    user, group = omar(), Group.objects.create(name="clerks")
    for wrong in ({}, {"user": user, "group": group}, {"user": user, "pattern": "#"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Authority.objects.create(**wrong)
