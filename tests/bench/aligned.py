"""Tables of text, in columns."""

from __future__ import annotations

from collections.abc import Sequence

LEFT = (0, 3)  # columns of words; the others are of numbers


def aligned(rows: Sequence[tuple[str, ...]], left: Sequence[int] = LEFT) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
