from django.apps import AppConfig
from django.db.models.signals import post_migrate


class DashboardsConfig(AppConfig):
    name = "dashboards"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Create schedules of nightly reports and live depths after a migration."""
        from dashboards.management import migrate  # noqa: PLC0415

        post_migrate.connect(migrate.prepare, sender=self)
