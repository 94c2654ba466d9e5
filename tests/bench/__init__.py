"""Measures the broker against the floor, another queue, and itself: ``make bench``.

Rates belong to a machine and an hour; ratios do not. So whatever is compared runs in
the same minute, in short slices in random order, and the median of the slices' ratios
counts.
"""

from __future__ import annotations

import django

django.setup()  # before any module of the package: its clients are processes
