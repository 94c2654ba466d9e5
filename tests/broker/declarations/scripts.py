"""Scripts of MQSC, and what is made of them."""

from __future__ import annotations

from typing import Any

from broker.declarations.converters import read
from broker.declarations.converters.converted import Converted

DEFAULTS = """DEFINE QLOCAL('APP.Q') +
   ACCTQ(QMGR) +
*  ALTDATE(2024-05-06) +
*  ALTTIME(10.11.12) +
   BOQNAME(' ') +
   BOTHRESH(0) +
   CLUSNL(' ') +
   CLUSTER(' ') +
   CLCHNAME(' ') +
   CLWLPRTY(0) +
   CLWLRANK(0) +
   CLWLUSEQ(QMGR) +
*  CRDATE(2024-05-06) +
*  CRTIME(10.11.12) +
*  CURDEPTH(0) +
   CUSTOM('CAPEXPRY(600)') +
   DEFBIND(OPEN) +
   DEFPRTY(0) +
   DEFPSIST(NO) +
   DEFPRESP(SYNC) +
   DEFREADA(NO) +
   DEFSOPT(SHARED) +
   DESCR(' ') +
   DISTL(NO) +
   GET(ENABLED) +
   NOHARDENBO +
   IMGRCOVQ(QMGR) +
   INITQ(' ') +
*  IPPROCS(0) +
   MAXDEPTH(5000) +
   MAXFSIZE(DEFAULT) +
   MAXMSGL(4194304) +
   MONQ(QMGR) +
   MSGDLVSQ(PRIORITY) +
   NPMCLASS(NORMAL) +
*  OPPROCS(0) +
   PROCESS(' ') +
   PUT(ENABLED) +
   PROPCTL(COMPAT) +
   QDEPTHHI(80) +
   QDEPTHLO(20) +
   QDPHIEV(DISABLED) +
   QDPLOEV(DISABLED) +
   QDPMAXEV(ENABLED) +
   QSVCIEV(NONE) +
   QSVCINT(999999999) +
   RETINTVL(999999999) +
   SCOPE(QMGR) +
   SHARE +
   STATQ(QMGR) +
   STREAMQ(' ') +
   STRMQOS(BESTEF) +
   NOTRIGGER +
   TRIGDATA(' ') +
   TRIGDPTH(1) +
   TRIGMPRI(0) +
   TRIGTYPE(FIRST) +
   USAGE(NORMAL) +
   REPLACE
"""


def converted(text: str) -> tuple[dict[str, Any], list[str], Converted]:
    """The objects, by kind and name; the comments; and all."""
    found = read("mqsc", text.encode())
    counts = found.parts.counts
    assert counts.read == counts.taken + counts.named + counts.defaults
    assert all(one.where for one in found.declarations)
    objects = {
        f"{one.kind.name} {' '.join(one.key)}": (
            "purged" if one.purge else "absent" if one.absent else dict(one.values)
        )
        for one in found.declarations
    }
    return objects, found.comments, found


def named(text: str) -> str:
    return "\n".join(converted(text)[1])


def made(text: str) -> dict[str, Any]:
    return converted(text)[0]
