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

SCHEME, PATH = "backout", "broker.client.celery_transport:Transport"


def register() -> None:
    """Let kombu know the URL, if it is installed."""
    # Once imported, kombu has no spec.
    if "kombu" in sys.modules or find_spec("kombu") is not None:
        from kombu.transport import TRANSPORT_ALIASES  # noqa: PLC0415

        TRANSPORT_ALIASES[SCHEME] = TRANSPORT_ALIASES[PATH] = transport


def transport() -> str:
    """The path of the transport; housekeeping runs beside its consumers.

    Raises:
        ImproperlyConfigured: Django's settings are not known.
    """
    if not apps.ready:
        django.setup()
    from broker.client.celery_transport import fetching  # noqa: PLC0415
    from broker.housekeeping.housekeeper import beside  # noqa: PLC0415

    if beside not in fetching.HOUSEKEEPERS:
        fetching.HOUSEKEEPERS.append(beside)
    return PATH
