"""A console whose searches look at few messages at once: however fast the machine is, a
search takes many slices."""

from __future__ import annotations

from console.asgi import application

# Models are ready from here on.
# isort: split
from broker.monitoring.search import Effort, walking
from console.messages import search_results, search_slices

__all__ = ["application"]

walking.FIRST_SCAN = walking.OF_BODIES = walking.STRIDE = 20
walking.QUICK_S = 0
search_results.SEARCH = Effort(looks=1)
search_slices.EFFORT = Effort(looks=1)
