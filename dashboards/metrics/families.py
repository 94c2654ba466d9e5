"""Names and descriptions of the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric name and its description."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def is_counter(self) -> bool:
        return self.name.endswith("_total")

    def of(self, samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
        kind = CounterMetricFamily if self.is_counter else GaugeMetricFamily
        metric = kind(self.name, self.help, labels=self.labels)
        for labels, value in samples:
            metric.add_metric(labels, value)
        return metric

    def is_(self, value: float) -> Metric:
        return self.of([((), value)])
