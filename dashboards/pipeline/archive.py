"""Where the archive is: a folder of this machine, or a place that machines share.

``BACKOUT_ARCHIVE`` is a folder, or the URI of an object store or of HDFS, which
pyarrow's file systems open. Spark reads the same files by its own file systems.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from pyarrow import fs

from dashboards.pipeline.remote_path import RemotePath
from dashboards.reports.errors import ArchiveUnusable

ArchivePath = Path | RemotePath
OF_SPARK = {"s3": "s3a"}  # schemes that have another name in Spark


def root() -> ArchivePath:
    """The folder of the archive.

    Raises:
        ArchiveUnusable: pyarrow does not know what ``BACKOUT_ARCHIVE`` names.
    """
    named = settings.BACKOUT_ARCHIVE
    if not named:
        return Path(settings.VAR_DIR) / "reports"
    return opened(named) if "://" in named else Path(named)


@cache
def opened(uri: str) -> RemotePath:
    try:
        files, path = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError, NotImplementedError) as error:
        raise ArchiveUnusable(uri_without_credentials(uri), str(error)) from error
    return RemotePath(files, path.rstrip("/"), uri_without_credentials(uri))


def uri_without_credentials(uri: str) -> str:
    """A URI as Spark reads it: without credentials and options."""
    said = urlsplit(uri)
    host = said.netloc.rpartition("@")[2]
    scheme = OF_SPARK.get(said.scheme, said.scheme)
    return f"{scheme}://{host}{said.path.rstrip('/')}"


def require() -> None:
    """
    Raises:
        ArchiveUnusable: the archive cannot be reached.
    """
    folder = root()
    try:
        folder.exists()
    except OSError as error:
        raise ArchiveUnusable(str(folder), str(error)) from error


def writer(path: ArchivePath, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of a new file.

    Numbers and times are written as differences: most of them ascend, or are often the
    same. A dictionary of them would soon be full, and the file several times as large.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    where, files = on(path)
    kinds = dict(leaves(schema))
    return pq.ParquetWriter(
        where,
        schema,
        filesystem=files,
        compression="zstd",
        use_dictionary=[
            name for name, kind in kinds.items() if pa.types.is_string(kind)
        ],
        column_encoding={
            name: "DELTA_BINARY_PACKED"
            for name, kind in kinds.items()
            if pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
        },
    )


def leaves(
    columns: Iterable[pa.Field], within: str = ""
) -> Iterator[tuple[str, pa.DataType]]:
    """The columns of a Parquet file by their paths, and their types."""
    for column in columns:
        path, kind = within + column.name, column.type
        if pa.types.is_map(kind):
            yield from leaves((kind.key_field, kind.item_field), f"{path}.key_value.")
        elif pa.types.is_list(kind):
            yield f"{path}.list.element", kind.value_type
        elif pa.types.is_struct(kind):
            yield from leaves(kind, f"{path}.")
        else:
            yield path, kind


def reader(path: ArchivePath) -> pq.ParquetFile:
    where, files = on(path)
    return pq.ParquetFile(where, filesystem=files)


def rows_in(file: ArchivePath) -> int:
    """The number of rows of a file, from its footer."""
    with reader(file) as content:
        return int(content.metadata.num_rows)


def on(path: ArchivePath) -> tuple[str, fs.FileSystem]:
    """A path as pyarrow takes it."""
    if isinstance(path, RemotePath):
        return path.path, path.files
    return str(path), fs.LocalFileSystem()


def moved(file: ArchivePath, to: ArchivePath) -> ArchivePath:
    """Move a file; return its new path."""
    if isinstance(file, RemotePath):
        assert isinstance(to, RemotePath)
        return file.rename(to)
    assert isinstance(to, Path)
    return file.rename(to)


def relative(file: ArchivePath) -> str:
    """The path of a file below the folder of the archive."""
    return str(file).removeprefix(f"{root()}/")


def checksum(path: ArchivePath) -> str:
    found = hashlib.sha256()
    with path.open("rb") as content:
        while part := content.read(2**20):
            found.update(part)
    return found.hexdigest()


def harden(paths: Iterable[ArchivePath]) -> None:
    """Flush files and their folders to the disk of this machine. A store has flushed a
    file when it confirms it."""
    named = [path for path in paths if isinstance(path, Path)]
    for path in [*named, *{path.parent for path in named}]:
        entry = os.open(path, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def clear(left: ArchivePath) -> int:
    """Delete a file or a folder; return 1 if it existed. No process writes to it."""
    was_there = left.exists()
    if isinstance(left, RemotePath):
        left.clear()
    elif left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)
    return int(was_there)
