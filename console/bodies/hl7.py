"""HL7 v2 as text: one segment a line, with the segment's name."""

from __future__ import annotations

import codecs
import re

from django.utils.translation import gettext, gettext_noop

LINE_ENDS = re.compile("\r\n|\r|\n")
FRAME = "\x0b\x1c"  # characters of MLLP framing, which some senders do not remove
CHARACTER_SET = 17  # the index of MSH-18; index 0 is the segment's name
WIDTH = 22  # the least characters before a segment

SEGMENTS = {
    "ACC": gettext_noop("Accident"),
    "AL1": gettext_noop("Allergy"),
    "BHS": gettext_noop("Batch header"),
    "BTS": gettext_noop("Batch trailer"),
    "DG1": gettext_noop("Diagnosis"),
    "DRG": gettext_noop("Diagnosis group"),
    "DSC": gettext_noop("Continuation pointer"),
    "ERR": gettext_noop("Error"),
    "EVN": gettext_noop("Event"),
    "FHS": gettext_noop("File header"),
    "FT1": gettext_noop("Financial transaction"),
    "FTS": gettext_noop("File trailer"),
    "GT1": gettext_noop("Guarantor"),
    "IN1": gettext_noop("Insurance"),
    "IN2": gettext_noop("Insurance, more"),
    "MRG": gettext_noop("Merge patient"),
    "MSA": gettext_noop("Acknowledgment"),
    "MSH": gettext_noop("Message header"),
    "NK1": gettext_noop("Next of kin"),
    "NTE": gettext_noop("Note"),
    "OBR": gettext_noop("Observation request"),
    "OBX": gettext_noop("Observation result"),
    "ORC": gettext_noop("Common order"),
    "PD1": gettext_noop("Patient, more"),
    "PID": gettext_noop("Patient"),
    "PR1": gettext_noop("Procedure"),
    "PRB": gettext_noop("Problem"),
    "PV1": gettext_noop("Visit"),
    "PV2": gettext_noop("Visit, more"),
    "QAK": gettext_noop("Query acknowledgment"),
    "QPD": gettext_noop("Query parameters"),
    "RCP": gettext_noop("Response control"),
    "ROL": gettext_noop("Role"),
    "RXA": gettext_noop("Administration"),
    "RXE": gettext_noop("Encoded order"),
    "RXO": gettext_noop("Pharmacy order"),
    "RXR": gettext_noop("Route"),
    "SCH": gettext_noop("Appointment"),
    "SFT": gettext_noop("Software"),
    "SPM": gettext_noop("Specimen"),
    "TQ1": gettext_noop("Timing"),
    "TXA": gettext_noop("Document header"),
}


def named_segments(body: bytes) -> str:
    """Segments, each after its long name; unknown segments stand alone.

    Raises:
        ValueError: it does not begin as HL7, or is not in the character set that
            it names.
    """
    segments = [
        segment.strip(FRAME)
        for segment in LINE_ENDS.split(body.decode(character_set(body)))
    ]
    segments = [segment for segment in segments if segment.strip()]
    if not segments or segments[0][:3] not in ("MSH", "BHS", "FHS"):
        begins = segments[0][:3] if segments else ""
        raise ValueError(f"it begins with {begins!r}, not with MSH, BHS or FHS")
    names = [name_of(segment[:3]) for segment in segments]
    width = max(WIDTH, *(len(name) + 1 for name in names))
    pairs = zip(names, segments, strict=True)
    return "\n".join(f"{name:{width}}{segment}" for name, segment in pairs)


def name_of(segment: str) -> str:
    """The long name of a segment; empty if it is not known here."""
    name = SEGMENTS.get(segment)
    return gettext(name) if name else ""


def character_set(body: bytes) -> str:
    """The ISO 8859 character set named by MSH-18; otherwise UTF-8, also if a mark says
    so."""
    if body.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    first = re.split(b"[\r\n]", body.lstrip(b"\x0b"), maxsplit=1)[0]
    fields = first.split(first[3:4] or b"|")
    named = fields[CHARACTER_SET] if len(fields) > CHARACTER_SET else b""
    found = re.match(rb"8859/(\d\d?)\b", named)
    return f"iso8859-{found[1].decode()}" if found else "utf-8"
