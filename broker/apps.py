from django.apps import AppConfig


class BrokerConfig(AppConfig):
    name = "broker"

    def ready(self) -> None:
        """Register the checks of the server that the broker stands on."""
        from broker import checks  # noqa: F401, PLC0415
        from broker.bridges import checks as of_bridges  # noqa: F401, PLC0415
