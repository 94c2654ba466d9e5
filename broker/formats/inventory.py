"""What became of each part of a file: taken over, a default, or named in a comment.

Whoever parses a file gives the path of everything in it that says something: each value
of JSON, each attribute, text and empty element of XML, each keyword of a command.
Whoever converts it calls ``take`` for a part that is in what was made, ``default`` for
one that says what its own product does anyway and what is so here, and ``name`` for all
else, with the reason and what to do. ``comments`` names by itself whatever is left, and
``counts`` says how many parts were read and what became of them: a test compares the
first with a walk of its own, and a part that is not in the file cannot be taken.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]  # names from the outermost element to the part
LINE = re.compile(r"line (\d+), (.*)", re.S)  # the place of a part, by line
BY_HAND = "If it matters, set by hand what comes nearest to it."
POSITION = re.compile(r"\[\d+\]$")  # number of an element among those of its name


@dataclass(frozen=True, slots=True)
class PartCounts:
    """How many parts a file has, and what became of them; each counts once."""

    read: int
    taken: int
    named: int
    defaults: int

    def __str__(self) -> str:
        return (
            f"{self.read:,} parts read: {self.taken:,} taken over, {self.named:,} named"
            f" in comments, {self.defaults:,} as by default."
        )


def slashed(path: Path) -> str:
    """A path as XPath has it."""
    return "".join(f"/{one}" for one in path)


class Inventory:
    """The parts of one file.

    Args:
        paths: of all parts that say something.
        place: a path, or the beginning of one, in words: ``queue orders, x-overflow``.
    """

    def __init__(
        self, paths: Iterable[Path] = (), *, place: Callable[[Path], str] = slashed
    ) -> None:
        self.paths = dict.fromkeys(paths)  # a dict, to keep the order of the file
        self.within = {one[:size] for one in self.paths for size in range(len(one) + 1)}
        self.place = place
        self.taken: set[Path] = set()
        self.defaults: set[Path] = set()
        self.sentences: dict[str, list[Path]] = defaultdict(list)

    def take(self, *paths: Path) -> None:
        """Note that parts were converted."""
        self.require(paths, self.paths)
        self.taken.update(paths)

    def default(self, *paths: Path) -> None:
        """Note that parts only ask for the default of both the other broker and this
        one."""
        self.require(paths, self.paths)
        self.defaults.update(paths)

    def name(self, sentence: str, *paths: Path) -> None:
        """Note why nothing, or not the same, was made of parts, and what to do.

        Args:
            sentence: without the place; equal ones become one comment.
            paths: of parts, which are then named even if something was taken of them;
                or beginnings of paths, for what is below them and not taken.
        """
        self.require(paths, self.within)
        self.sentences[sentence].extend(paths)

    @staticmethod
    def require(paths: Iterable[Path], known: Iterable[Path]) -> None:
        for path in paths:
            if path not in known:
                raise KeyError(f"The file has no part {path!r}.")

    def sorted_out(self) -> dict[Path, str]:
        """What became of each part: ``taken``, ``named``, ``default``, or ``left``."""
        named = {path for paths in self.sentences.values() for path in paths}
        return {path: self.end_of(path, named) for path in self.paths}

    def end_of(self, path: Path, named: set[Path]) -> str:
        for end, paths in (
            ("named", named),
            ("taken", self.taken),
            ("default", self.defaults),
        ):
            if path in paths:
                return end
        is_below = any(path[:size] in named for size in range(len(path)))
        return "named" if is_below else "left"

    @property
    def counts(self) -> PartCounts:
        ends = list(self.sorted_out().values())
        named = ends.count("named") + ends.count("left")
        return PartCounts(len(ends), ends.count("taken"), named, ends.count("default"))

    def comments(self) -> Iterator[str]:
        """The comments: each sentence with the places of the parts that it is about."""
        for sentence, paths in self.sentences.items():
            yield self.located(paths, sentence)
        left: dict[str, dict[Path, None]] = defaultdict(dict)
        for path in self.left():
            left[self.named_by(path)][path] = None
        for name, unknown in left.items():
            sentence = f"{name} is not known here; nothing was made of it. {BY_HAND}"
            yield self.located(unknown, sentence)

    @staticmethod
    def named_by(path: Path) -> str:
        words = (one for one in reversed(path) if isinstance(one, str))
        return POSITION.sub("", next(words, "It"))

    def located(self, paths: Iterable[Path], sentence: str) -> str:
        places = "; ".join(gathered(map(self.place, paths)))
        return f"{places}: {sentence}" if places else sentence

    def left(self) -> Iterator[Path]:
        """The parts that nobody sorted out; instead of all parts of a group, the group
        itself."""
        ends = self.sorted_out()
        looked_at = {
            path[:size]
            for path, end in ends.items()
            for size in range(len(path) + 1)
            if end != "left"
        }
        for path, end in ends.items():
            if end == "left":
                sizes = range(1, len(path) + 1)
                yield next((path[:n] for n in sizes if path[:n] not in looked_at), path)


def gathered(places: Iterable[str]) -> Iterator[str]:
    """Places without duplicates; places that differ only in the number of the line are
    joined."""
    lines: dict[str, dict[int, None]] = {}
    for place in places:
        found = LINE.fullmatch(place)
        numbers = lines.setdefault(found[2] if found else place, {})
        if found:
            numbers[int(found[1])] = None
    for rest, numbers in lines.items():
        several = ", ".join(map(str, sorted(numbers)))
        word = "lines" if len(numbers) > 1 else "line"
        yield f"{word} {several}, {rest}" if numbers else rest


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all parts of a JSON document: what is no object and no list, and
    what is empty."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict) or not value:
        yield path
        return
    for name, one in value.items():
        yield from paths_of(one, (*path, name))
