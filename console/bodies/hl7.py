"""HL7 v2 as text: one segment a line, with the segment's name."""

from __future__ import annotations

import codecs
import re

LINE_ENDS = re.compile("\r\n|\r|\n")
FRAME = "\x0b\x1c"  # characters of MLLP framing, which some senders do not remove
CHARACTER_SET = 17  # the index of MSH-18; index 0 is the segment's name
WIDTH = 22

SEGMENTS = {
    "ACC": "Accident",
    "AL1": "Allergy",
    "BHS": "Batch header",
    "BTS": "Batch trailer",
    "DG1": "Diagnosis",
    "DRG": "Diagnosis group",
    "DSC": "Continuation pointer",
    "ERR": "Error",
    "EVN": "Event",
    "FHS": "File header",
    "FT1": "Financial transaction",
    "FTS": "File trailer",
    "GT1": "Guarantor",
    "IN1": "Insurance",
    "IN2": "Insurance, more",
    "MRG": "Merge patient",
    "MSA": "Acknowledgment",
    "MSH": "Message header",
    "NK1": "Next of kin",
    "NTE": "Note",
    "OBR": "Observation request",
    "OBX": "Observation result",
    "ORC": "Common order",
    "PD1": "Patient, more",
    "PID": "Patient",
    "PR1": "Procedure",
    "PRB": "Problem",
    "PV1": "Visit",
    "PV2": "Visit, more",
    "QAK": "Query acknowledgment",
    "QPD": "Query parameters",
    "RCP": "Response control",
    "ROL": "Role",
    "RXA": "Administration",
    "RXE": "Encoded order",
    "RXO": "Pharmacy order",
    "RXR": "Route",
    "SCH": "Appointment",
    "SFT": "Software",
    "SPM": "Specimen",
    "TQ1": "Timing",
    "TXA": "Document header",
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
    return "\n".join(
        f"{SEGMENTS.get(segment[:3], ''):{WIDTH}}{segment}" for segment in segments
    )


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
