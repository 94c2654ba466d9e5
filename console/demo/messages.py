"""Sample messages: a generated set, or the files of a folder.

The set is always the same, except for numbers, which go on from round to round. About
two thirds are processed at once. The others fail as in real life: truncated, wrong
character set, malicious, or before their reference data.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from console.demo.reading import HL7, JSON, XML

KNOWN_CUSTOMERS = ("1001", "1002", "1003", "1004", "1005")
LATE_CUSTOMERS = ("4711", "4712", "4713")  # unknown until they are added

TYPE_BY_SUFFIX = {".json": JSON, ".hl7": HL7, ".txt": HL7, ".xml": XML}

NAMES = ("Amsel^Vera", "Buche^Omar", "Citron^Ada", "Dorn^Levi", "Ekman^Ines")
WARDS = ("MED^204^1", "SUR^310^2", "ICU^002^1")
RESULTS = (("718-7", "Hemoglobin", "g/dL", 13.4), ("2345-7", "Glucose", "mg/dL", 98.0))

ENTITY_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha">'
    '<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
    "<d><e>&c;</e></d>"
)
FOREIGN_ENTITY = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    "<d><e>&x;</e></d>"
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One message to send. ``trouble`` is the expected error, if any."""

    name: str
    content_type: str
    body: bytes
    trouble: str = ""


def samples(turn: int = 0) -> list[Sample]:
    """The set of one round, with its kinds mixed."""
    first = 1000 * turn
    made = list(
        chain(
            (admission(first + n) for n in range(10)),
            (observation(first + n) for n in range(8)),
            (order(first + n, KNOWN_CUSTOMERS[n % 5]) for n in range(14)),
            (status_report(first + n) for n in range(8)),
            early_orders(first + 100),
            malformed(first + 200),
        )
    )
    random.Random(turn).shuffle(made)  # noqa: S311  # an order, no secret
    return made


def in_folder(folder: Path) -> Iterator[Sample]:
    """Files with a message's file name extension, in order."""
    for path in sorted(folder.rglob("*")):
        content_type = TYPE_BY_SUFFIX.get(path.suffix.lower())
        if content_type and path.is_file():
            name = str(path.relative_to(folder))
            yield Sample(name, content_type, path.read_bytes())


def order(number: int, customer: str, quantity: object = 2) -> Sample:
    value = {
        "order": 50_000 + number,
        "customer": customer,
        "lines": [{"article": f"A-{number % 37:03}", "quantity": quantity}],
    }
    return Sample(f"order-{number}.json", JSON, json.dumps(value, indent=1).encode())


def admission(number: int) -> Sample:
    return hl7(
        f"adt-{number}.hl7",
        header("ADT^A01", number),
        "EVN|A01|20260302081500",
        f"PID|1||{70_000 + number}^^^MRN||{NAMES[number % 5]}||19630306|F",
        f"PV1|1|I|{WARDS[number % 3]}",
    )


def observation(number: int) -> Sample:
    code, name, unit, usual = RESULTS[number % 2]
    return hl7(
        f"oru-{number}.hl7",
        header("ORU^R01", number),
        f"PID|1||{70_000 + number}^^^MRN||{NAMES[number % 5]}",
        f"OBR|1|{number}|{number}^LAB|{code}^{name}^LN",
        f"OBX|1|NM|{code}^{name}^LN||{usual + number % 7}|{unit}|||||F",
    )


def status_report(number: int) -> Sample:
    """A payment status, in the shape of ISO 20022's pacs.002."""
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.002.001.10">\n'
        f" <FIToFIPmtStsRpt><GrpHdr><MsgId>STS-{number}</MsgId></GrpHdr>\n"
        f"  <TxInfAndSts><OrgnlEndToEndId>E2E-{number}</OrgnlEndToEndId>"
        f"<TxSts>{'ACSC' if number % 4 else 'RJCT'}</TxSts></TxInfAndSts>\n"
        " </FIToFIPmtStsRpt>\n</Document>\n"
    )
    return Sample(f"pacs002-{number}.xml", XML, text.encode())


def early_orders(first: int) -> Iterator[Sample]:
    """Orders of customers who are added later; they succeed when resubmitted."""
    for n in range(6):
        customer = LATE_CUSTOMERS[n % 3]
        early = order(first + n, customer)
        trouble = f"customer {customer} is not known yet"
        yield Sample(early.name, JSON, early.body, trouble)


def malformed(first: int) -> Iterator[Sample]:
    """Messages that no redelivery or resubmit can process."""
    whole = order(first, "1001").body
    for n in range(3):
        body, name = whole[: 20 + 17 * n], f"cut-off-{first + n}.json"
        yield Sample(name, JSON, body, "(char ")
    yield spoilt(order(first + 3, "1002", quantity=0), "quantity must be 1 or more")
    yield spoilt(order(first + 4, "1003", quantity="two"), "quantity must be 1 or more")
    latin = '{"order": 1, "customer": "Müller & Söhne"}'.encode("latin-1")
    yield Sample(f"latin-{first + 5}.json", JSON, latin, "can't decode byte")
    yield Sample(f"nan-{first + 6}.json", JSON, b'{"price": NaN}', "NaN is not JSON")

    headless = admission(first + 7).body.partition(b"\r")[2]
    yield Sample(f"headless-{first + 7}.hl7", HL7, headless, "first segment is 'EVN'")
    nameless = header("ADT^A01", first + 8).replace(f"CTL{first + 8}", "")
    yield spoilt(hl7(f"nameless-{first + 8}.hl7", nameless), "MSH-10 (control id)")
    yield Sample(f"short-{first + 9}.hl7", HL7, b"MSH|", "MSH segment is cut short")

    unclosed = status_report(first + 10).body[:-20]
    yield Sample(f"unclosed-{first + 10}.xml", XML, unclosed, "not well-formed")
    yield Sample(f"bomb-{first + 11}.xml", XML, ENTITY_BOMB.encode(), "a DTD")
    foreign = FOREIGN_ENTITY.encode()
    yield Sample(f"foreign-{first + 12}.xml", XML, foreign, "a DTD")
    yield Sample(f"fax-{first + 13}.tif", "image/tiff", b"II*\0", "nobody here reads")


def spoilt(sample: Sample, trouble: str) -> Sample:
    return Sample(f"spoilt-{sample.name}", sample.content_type, sample.body, trouble)


def header(kind: str, number: int) -> str:
    stamp = f"202603020815{number % 60:02}"
    return f"MSH|^~\\&|WARD|NORTH|LAB|NORTH|{stamp}||{kind}|CTL{number}|P|2.5"


def hl7(name: str, *segments: str) -> Sample:
    return Sample(name, HL7, "\r".join((*segments, "")).encode())
