"""The queue that the default settings name: the broker creates it by itself."""

from __future__ import annotations

from django.apps import apps as installed
from django.apps.registry import Apps
from django.conf import settings
from django.db import transaction

from broker.config import defaults

NAMES = ("Queue", "QueueAlias", "ModelQueue")  # models that share the names of queues


@transaction.atomic
def make_missing(apps: Apps = installed) -> None:
    """Create the dead letter queue of ``BROKER_DEAD_LETTER_QUEUE``'s default, and its
    address, where they are missing. What exists is not changed.

    A project that names another queue declares it: ``config.lint`` says so where it is
    missing. Safe to run twice, and at the same time.

    Args:
        apps: the models, as far as the database is migrated.

    Source:
        IBM MQ creates SYSTEM.DEAD.LETTER.QUEUE with each queue manager.
    """
    name = settings.BROKER_DEAD_LETTER_QUEUE
    if name != defaults.BROKER_DEAD_LETTER_QUEUE:
        return
    queues, *others = (apps.get_model("broker", one).objects for one in NAMES)
    if any(one.filter(name=name).exists() for one in (queues, *others)):
        return
    addresses = apps.get_model("broker", "Address").objects
    addresses.bulk_create([addresses.model(name=name)], ignore_conflicts=True)
    queue = queues.model(name=name, address=addresses.get(name=name))
    queues.bulk_create([queue], ignore_conflicts=True)
