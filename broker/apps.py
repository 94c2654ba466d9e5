from django.apps import AppConfig


class BrokerConfig(AppConfig):
    name = "broker"

    def ready(self) -> None:
        """Register the checks of the server that the broker stands on."""
        from broker import checks  # noqa: F401, PLC0415
