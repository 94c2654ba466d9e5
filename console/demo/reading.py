"""Parses messages on ``intake`` as strictly as a real receiver.

The result is one line of text, or an error: ``ValueError`` for malformed input,
``LookupError`` for valid input whose reference data is missing. The caller backs out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import Any, NoReturn

import defusedxml.ElementTree
from defusedxml import DefusedXmlException

HL7 = "x-application/hl7-v2+er7"
JSON = "application/json"
XML = "application/xml"

FRAME = "\x0b\x1c\r\n\t "  # MLLP framing, which some senders do not remove, and blanks
CONTROL_ID = 9  # the index of MSH-10, because MSH-1 is the separator itself
LINE_ENDS = re.compile("\r\n|\n")
ISO_20022 = "urn:iso:std:iso:20022:tech:xsd:"


def read(body: bytes, content_type: str, known_customers: Container[str]) -> str:
    """Describe a message in one line.

    Raises:
        ValueError: the body is not what its content type says, or lacks what every
            message of its kind has.
        LookupError: an order is for a customer who is not known yet.
    """
    match content_type.partition(";")[0].strip().lower():
        case "application/json":
            return read_json(body, known_customers)
        case "x-application/hl7-v2+er7" | "application/hl7-v2":
            return read_hl7(body)
        case "application/xml" | "text/xml":
            return read_xml(body)
        case other:
            raise ValueError(f"nobody here reads {other or 'a body without a type'}")


def read_json(body: bytes, known_customers: Container[str]) -> str:
    try:
        value = json.loads(body.decode(), parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    if not isinstance(value, dict) or not value:
        raise ValueError("the JSON is not an object with something in it")
    if "order" in value:
        return read_order(value, known_customers)
    return f"object with {', '.join(sorted(value)[:5])}"


def read_order(order: dict[str, Any], known_customers: Container[str]) -> str:
    customer, lines = order.get("customer"), order.get("lines")
    if not isinstance(customer, str) or not isinstance(lines, list) or not lines:
        raise ValueError("an order needs a customer and at least one line")
    for line in lines:
        quantity = line.get("quantity") if isinstance(line, dict) else None
        if not isinstance(quantity, int) or quantity < 1:
            raise ValueError(f"a quantity must be 1 or more, not {quantity!r:.40}")
    if customer not in known_customers:
        raise LookupError(f"customer {customer} is not known yet")
    return f"order {order['order']} of customer {customer}, lines: {len(lines)}"


def read_hl7(body: bytes) -> str:
    """Read one HL7 v2 message, or the messages of a batch or a file of batches."""
    text = LINE_ENDS.sub("\r", body.decode().strip(FRAME))
    if not text.startswith(("MSH", "BHS", "FHS")):
        raise ValueError(f"the first segment is {text[:3]!r}, not MSH, BHS or FHS")
    segments = [one for one in text.split("\r") if one]
    headers = [one for one in segments if one.startswith("MSH")]
    if not headers:
        raise ValueError("the batch has no message in it")
    first, *others = [read_hl7_header(header) for header in headers]
    return f"{first} and {len(others)} more" if others else first


def read_hl7_header(segment: str) -> str:
    """Message type and control id of an MSH segment; its fourth character separates."""
    fields = segment.split(segment[3:4] or "|")
    if len(fields) <= CONTROL_ID or len(fields[1]) < len("^~\\&"):
        raise ValueError("the MSH segment is cut short or has no separators")
    kind, control_id = fields[CONTROL_ID - 1], fields[CONTROL_ID]
    if not kind or not control_id:
        raise ValueError("MSH-9 (message type) or MSH-10 (control id) is empty")
    return f"{kind} {control_id}"


def read_xml(body: bytes) -> str:
    """Read a document without a DTD, so that no entity can grow in it.

    An ISO 20022 ``Document`` holds exactly one message; of others only the root's name
    is read.
    """
    try:
        root = defusedxml.ElementTree.fromstring(body, forbid_dtd=True)
    except DefusedXmlException:
        raise ValueError("the XML declares a DTD, which nobody here reads") from None
    except (SyntaxError, LookupError) as malformed:
        raise ValueError(f"the XML is not well-formed: {malformed}") from None
    name: str = root.tag
    namespace, _, tag = name.rpartition("}")
    if not len(root):
        raise ValueError(f"the root {tag!r:.40} is empty")
    if namespace.removeprefix("{").startswith(ISO_20022) and tag == "Document":
        if len(root) != 1:
            raise ValueError(f"a Document holds one message, not {len(root)}")
        return f"{namespace.rpartition(':')[2]} {root[0].tag.rpartition('}')[2]}"
    return tag


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
