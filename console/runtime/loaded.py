"""Loads what the programs of the Procfile need, for ``forkserver``; nothing connects to
a server or starts a thread."""

from __future__ import annotations

import os
from importlib import import_module

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

import django
from django.conf import settings

from console.runtime import forkserver

MODULES = (
    *("celery.apps.worker", "celery.bin.celery", "celery.concurrency.prefork"),
    *("celery.worker.consumer", "uvicorn", "whitenoise.storage"),
    *("broker.amqp.listener", "broker.bridges.process", "broker.client.dispatch"),
    *("console.celery", "console.urls", "dashboards.routing"),
)

django.setup()
for module in (*MODULES, *(one.rpartition(".")[0] for one in settings.MIDDLEWARE)):
    import_module(module)
forkserver.settle()
