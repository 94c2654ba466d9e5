"""How many lines of Python code the product has, in all and for each package.

A line counts where it has code: not if it is blank, a comment or a docstring. Tests do
not count. Migrations do, and stand apart as well.

    .venv/bin/python -m tests.tools.lines_of_code
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("broker", "console", "dashboards")
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def lines_of_code(source: str) -> int:
    """The lines of a file that have code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstring_lines(source))


def docstring_lines(source: str) -> set[int]:
    """The lines that docstrings stand on."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Module(body=[first, *_])
                | ast.ClassDef(body=[first, *_])
                | ast.FunctionDef(body=[first, *_])
                | ast.AsyncFunctionDef(body=[first, *_])
            ) if ast.get_docstring(node, clean=False) is not None:
                lines.update(range(first.lineno, (first.end_lineno or 0) + 1))
    return lines


def part_of(path: Path) -> str:
    """The package, or the packages' migrations, that a file counts for."""
    if "migrations" in path.parts:
        return "migrations"
    return "/".join(path.parent.relative_to(ROOT).parts[:2])


def main() -> None:
    parts: Counter[str] = Counter()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            lines = lines_of_code(path.read_text())
            parts[part_of(path)] += lines
            parts[f"all of {package}"] += lines
            parts["in all"] += lines
    for part, lines in sorted(parts.items(), key=lambda each: each[1]):
        print(f"{lines:7,}  {part}")


if __name__ == "__main__":
    main()
