"""Names of characters that are invisible or misleading."""

from __future__ import annotations

CONTROLS = [
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL"),
    *("BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB"),
    *("CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
]


def hidden(character: str) -> bool:
    """Whether a character is invisible or misleading."""
    return not character.isprintable() and character not in "\n\t"


def glyph(character: str) -> str:
    """The name of a control character; the number of any other."""
    code = ord(character)
    return f"[{CONTROLS[code]}]" if code < len(CONTROLS) else f"[U+{code:04X}]"
