import os
from types import ModuleType

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate

from broker.config import django_settings


class BrokerConfig(AppConfig):
    name = "broker"
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        """Give the broker's settings their values, before any model is loaded."""
        super().__init__(app_name, app_module)
        django_settings.complete(settings, os.environ)

    def ready(self) -> None:
        """Register the system checks, the receivers of migration signals, what reads
        envelopes for selectors, what moves messages, and what the first process does.

        Raises:
            ImproperlyConfigured: ``BACKOUT`` has an unknown name.
        """
        django_settings.refuse_unknown(settings)
        from broker import checks  # noqa: F401, PLC0415
        from broker.amqp.messages import selectable_fields  # noqa: F401, PLC0415
        from broker.bridges import checks as of_bridges  # noqa: F401, PLC0415
        from broker.bridges.config import delays  # noqa: PLC0415
        from broker.bridges.config import moves as of_links  # noqa: PLC0415
        from broker.config import lint, system_queues, transfers  # noqa: PLC0415
        from broker.management import celery_scheme, first_rows, migrate  # noqa: PLC0415
        from broker.operations.rules import moves as of_rules  # noqa: PLC0415
        from broker.queueing import processes  # noqa: PLC0415
        from broker.settlement import hardening  # noqa: PLC0415
        from broker.sql import open_transactions  # noqa: PLC0415

        pre_migrate.connect(migrate.refuse_half_way)
        pre_migrate.connect(first_rows.refuse_left_out, sender=self)
        post_migrate.connect(migrate.prepare, sender=self)
        connection_created.connect(processes.resign_for_databases)
        connection_created.connect(open_transactions.watch)
        celery_scheme.register()
        # Django calls this method again when a test changes INSTALLED_APPS.
        if not processes.AT_START:
            processes.AT_START += [
                system_queues.make_missing,
                hardening.forget_counts,
            ]
        transfers.SOURCES[:] = [of_links.stored, of_rules.stored]
        lint.PASSING[:] = [delays.of_links]
