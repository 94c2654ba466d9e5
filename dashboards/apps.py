from django.apps import AppConfig
from django.db.models.signals import post_migrate


class DashboardsConfig(AppConfig):
    name = "dashboards"

    def ready(self) -> None:
        """Have reports asked for at night, and depths published, after a migration."""
        from dashboards.management import migrate  # noqa: PLC0415

        post_migrate.connect(migrate.prepare, sender=self)
