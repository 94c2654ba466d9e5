from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        """Make Celery known, find the viewers of all applications, and have the roles
        made whenever permissions may have been."""
        from console import celery, roles  # noqa: F401, PLC0415 (being loaded)

        autodiscover_modules("viewers")
        post_migrate.connect(roles.grant)
