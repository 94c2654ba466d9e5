"""What a plan will warn of is what is warned of when it is applied."""

from __future__ import annotations

import pytest

from broker.config.lint import advice
from broker.declarations import advise, apply, plan, read
from broker.models import Queue
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.django_db

DOCUMENTS = {
    "dead-letter-address-without-queue": """
        [queues.orders]
        [settings.orders]
        dead_letter_address = "dead"
        """,
    "circle-of-moves": """
        [queues.orders]
        [queues.wait]
        [settings.orders]
        dead_letter_address = "wait"
        [settings.wait]
        expiry_address = "orders"
        expiry_delay = "5 s"
        """,
    "no-such-backout-queue": """
        [queues.orders]
        backout_threshold = 3
        backout_queue = "alias"
        [aliases]
        alias = "nowhere"
        """,
    "own-backout-queue": """
        [models.MODEL]
        backout_threshold = 3
        backout_queue = "MODEL"
        [queues.here]
        backout_threshold = 3
        backout_queue = "here"
        """,
    "dead-letters-match-nothing": """
        [queues.some]
        address = "dead"
        selector = "size > 3"
        [settings.orders]
        dead_letter_address = "dead"
        """,
    "dead-letter-queue-too-short": """
        [queues."SYSTEM.DEAD.LETTER.QUEUE"]
        max_message_bytes = 1000
        [queues.orders]
        """,
    "none": """
        [queues.orders]
        [queues.dead]
        [settings.orders]
        dead_letter_address = "dead"
        [authorities."group:viewer"]
        orders = ["browse"]
        """,
}


@pytest.mark.parametrize("code", DOCUMENTS)
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_plan_foresees_the_warnings(code: str, *, is_empty: bool) -> None:
    if not is_empty:
        make_queue("elsewhere")
        make_queue("dead", address="elsewhere")
        make_queue("orders", selector="a = 1", address="wait")
        make_setting("#", dead_letter_address="DEAD", max_delivery_attempts=4)
    declared, _ = read(DOCUMENTS[code].replace("\n        ", "\n"))
    wanted = plan([one for one in declared if one.kind.name != "authority"])
    before = set(advice())

    foreseen = advise(wanted)

    apply(wanted)
    assert foreseen == [one for one in advice() if one not in before]
    if is_empty:
        assert code in {one.code for one in foreseen} or (code, foreseen) == (
            "none",
            [],
        )


def test_what_a_plan_deletes_is_missed() -> None:
    make_queue("orders", backout_threshold=3, backout_queue="poison")
    make_queue("poison")
    declared, _ = read("[queues.poison]\nabsent = true\n")

    (found,) = advise(plan(declared))

    assert found.code == "no-such-backout-queue"
    assert Queue.objects.filter(name="poison").exists()
