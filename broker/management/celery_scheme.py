"""The URL ``backout://`` of Celery's ``broker_url``.

Django registers it when it has loaded. Most commands of ``celery`` do not load Django;
they load their plug-ins, and ``command`` here is one. The first use of the URL then
loads Django.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import django
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

SCHEME, PATH = "backout", "broker.client.celery_transport:Transport"
WITHOUT_BROKER = (
    "backout:// is the database of a Django project with the application 'broker'."
    " Add it to INSTALLED_APPS."
)


def register() -> None:
    """Register the URL scheme with kombu, if kombu is installed."""
    # ``find_spec`` raises an error once kombu is imported, as kombu then has no spec.
    if "kombu" in sys.modules or find_spec("kombu") is not None:
        from kombu.transport import TRANSPORT_ALIASES  # noqa: PLC0415

        TRANSPORT_ALIASES[SCHEME] = TRANSPORT_ALIASES[PATH] = transport


def transport() -> str:
    """The path of the transport; housekeeping runs beside its consumers.

    Raises:
        ImproperlyConfigured: Django's settings are not known, or are those of a project
            without this broker.
    """
    if not apps.ready:
        django.setup()
    if not apps.is_installed("broker"):
        raise ImproperlyConfigured(WITHOUT_BROKER)
    from broker.client.celery_transport import fetching  # noqa: PLC0415
    from broker.housekeeping.housekeeper import beside  # noqa: PLC0415

    if beside not in fetching.HOUSEKEEPERS:
        fetching.HOUSEKEEPERS.append(beside)
    return PATH
