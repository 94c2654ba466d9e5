"""The walk over all blocks of README.md, CONTRIBUTING.md, SECURITY.md and docs/."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from tests.test_docs import DOCUMENTS, TREE

BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.M | re.S)
CALL = re.compile(r"^(GET|PUT|POST|PATCH|DELETE) (/api/\S+) +(\{.*\})$", re.M)
PAGES = {
    str(one.relative_to(TREE)): one for one in DOCUMENTS if one.name != "CHANGELOG.md"
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each block."""
    return [(kind, dedent(text)) for _, kind, text in BLOCK.findall(page.read_text())]


def joined(text: str) -> list[str]:
    """Its lines; what is continued by a backslash is one."""
    return re.sub(r"\s*\\\n\s*", " ", text).splitlines()
