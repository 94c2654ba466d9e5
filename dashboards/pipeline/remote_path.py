"""A path on one of pyarrow's file systems, with the methods of ``pathlib.Path`` that
the archive needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import total_ordering
from pathlib import PurePosixPath
from typing import Any

from pyarrow import fs

JOKERS = "*?["


@total_ordering
@dataclass(frozen=True)
class RemotePath:
    """A file or a folder. As text it is the URI by which Spark reads it."""

    files: fs.FileSystem = field(compare=False, repr=False)
    path: str  # the path on the file system ``files``
    uri: str

    def __str__(self) -> str:
        return self.uri

    def __lt__(self, other: RemotePath) -> bool:
        return self.path < other.path

    def __truediv__(self, name: object) -> RemotePath:
        more = str(PurePosixPath(str(name)))
        if more == ".":
            return self
        return RemotePath(self.files, f"{self.path}/{more}", f"{self.uri}/{more}")

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @property
    def parent(self) -> RemotePath:
        above = (one.rpartition("/")[0] for one in (self.path, self.uri))
        return RemotePath(self.files, *above)

    def with_suffix(self, suffix: str) -> RemotePath:
        return self.parent / PurePosixPath(self.name).with_suffix(suffix)

    def exists(self) -> bool:
        return bool(self.kind() != fs.FileType.NotFound)

    def kind(self) -> fs.FileType:
        return self.files.get_file_info(self.path).type

    def open(self, _: str = "rb") -> Any:
        """The content, to be read."""
        return self.files.open_input_stream(self.path)

    def mkdir(self, **_: object) -> None:
        """Create the folder and those above it; an object store has none."""
        if self.files.type_name not in ("s3", "gcs"):
            self.files.create_dir(self.path, recursive=True)

    def rename(self, new: RemotePath) -> RemotePath:
        """Move a file; an object store copies it."""
        self.files.move(self.path, new.path)
        return new

    def unlink(self, *, missing_ok: bool = False) -> None:
        with suppress(*[FileNotFoundError] * missing_ok):
            self.files.delete_file(self.path)

    def clear(self) -> None:
        """Delete a file, or a folder with all in it; nothing if there is none."""
        with suppress(FileNotFoundError):
            if self.kind() == fs.FileType.Directory:
                self.files.delete_dir(self.path)
            else:
                self.files.delete_file(self.path)

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """The files and folders below whose names match, part by part."""
        parts = pattern.split("/")
        fixed = next(n for n, one in enumerate(parts) if set(one) & set(JOKERS))
        start = self / "/".join(parts[:fixed]) if fixed else self
        below = fs.FileSelector(start.path, recursive=True, allow_not_found=True)
        for found in self.files.get_file_info(below):
            names = found.path.removeprefix(f"{self.path}/").split("/")
            if len(names) == len(parts) and all(map(fnmatchcase, names, parts)):
                yield self / "/".join(names)
