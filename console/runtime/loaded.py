"""Loads what the programs of the Procfile need, for ``forkserver``; nothing connects to
a server or starts a thread."""

from __future__ import annotations

import os
from importlib import import_module

from console.runtime import forkserver

forkserver.ignore_signals()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

import django  # noqa: E402
from django.conf import settings  # noqa: E402
from django.template import engines  # noqa: E402

# A program fills gaps between the objects here with what it loads itself, and so copies
# many pages: what is missing in this list costs it several times its size.
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
    "dashboards.alert_conditions",
    *("console.integration.sockets", "console.runtime.request_size", "console.urls"),
    *("dashboards.routing", settings.ROOT_URLCONF),
)

django.setup()
for module in (*MODULES, *(one.rpartition(".")[0] for one in settings.MIDDLEWARE)):
    import_module(module)
engines.all()  # loads the tags of templates
tasks = import_module("console.celery").app
tasks.loader.import_default_modules()
tasks.finalize()
forkserver.settle()
