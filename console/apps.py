from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        """Have the roles made whenever permissions may have been."""
        from console import roles  # noqa: PLC0415 (applications are being loaded)

        post_migrate.connect(roles.grant)
