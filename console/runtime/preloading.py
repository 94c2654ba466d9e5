"""Loads what the programs of the Procfile need. Nothing connects to a server or starts
a thread."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.template import TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.loader import get_template

# A module that is missing here costs each program several times its size: its objects
# are put into gaps between the shared ones, whose memory pages are then copied.
MODULES = (
    *("celery.app.control", "celery.app.log", "celery.apps.worker", "celery.beat"),
    *("celery.bin.celery", "celery.concurrency.prefork", "celery.events.receiver"),
    *("celery.worker.autoscale", "celery.worker.components", "celery.worker.consumer"),
    *("celery.worker.consumer.delayed_delivery", "celery.worker.strategy"),
    *("django_celery_beat.schedulers", "kombu.transport.redis"),
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto"),
    *("uvicorn.protocols.websockets.websockets_sansio_impl", "whitenoise.storage"),
    *("broker.amqp.listener", "broker.bridges.process", "broker.client.dispatch"),
    *("broker.client.dispatch.dispatcher", "broker.housekeeping.housekeeper"),
    *("broker.management.processes", "channels_redis.core", "dashboards.duties"),
    *("console.conditions", "dashboards.conditions"),
    *("console.integration.sockets", "console.runtime.request_size", "console.urls"),
    "dashboards.routing",
)


def load() -> None:
    django.setup()
    middleware = (one.rpartition(".")[0] for one in settings.MIDDLEWARE)
    for module in (*MODULES, settings.ROOT_URLCONF, *middleware):
        import_module(module)
    load_templates()
    tasks = import_module("console.celery").app
    tasks.loader.import_default_modules()
    tasks.finalize()


def load_templates() -> None:
    """Compile the templates of all pages: a few hundred, in a fifth of a second. One
    with an error says so where it is used."""
    engines.all()  # loads the template tags
    configured: list[dict[str, Any]] = settings.TEMPLATES
    for folder in map(Path, [path for one in configured for path in one["DIRS"]]):
        for file in sorted(folder.rglob("*.html")):
            with suppress(TemplateDoesNotExist, TemplateSyntaxError):
                get_template(str(file.relative_to(folder)))
