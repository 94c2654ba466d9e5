"""The fingerprint of each event's error, as a column of the archive.

Most texts differ in digits only, and a fingerprint does not depend on which digits
these are. So the digits are made equal first, for a whole batch, and each text that is
left is searched once. Texts whose digits may count are left as they are: codes of
status and of HTTP are part of a pattern, and ``0x`` begins a number. So are texts with
other than ASCII characters, whose small and capital letters are not those of a search.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from broker.formats.error_fingerprint import fingerprint

COUNTS = r"(?i)status|http|0x|[^\x00-\x7f]"


def fingerprints(errors: pa.StringArray) -> pa.StringArray:
    """The key of each error's group; null for no error, and for an empty one."""
    known = errors.dictionary_encode()
    texts = known.dictionary
    equal = pc.replace_substring_regex(texts, pattern="[0-9]", replacement="1")
    counts = pc.match_substring_regex(texts, COUNTS)
    few = pc.if_else(counts, texts, equal).dictionary_encode()
    keys = [key_of(one) if one else None for one in few.dictionary.to_pylist()]
    return pa.array(keys, pa.string()).take(few.indices).take(known.indices)


@lru_cache(10_000)  # batches of a journal have many errors in common
def key_of(error: str) -> str:
    return fingerprint(error).key
