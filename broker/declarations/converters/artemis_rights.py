"""Security settings of a ``broker.xml`` as authorities, which an operator grants.

Source:
    ActiveMQ Artemis manual, "Authentication & Authorization".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from broker.config import artemis_patterns, placeholders
from broker.config.xml_tree import Element
from broker.declarations.converters.converted import Converted
from broker.formats.inventory import Path
from broker.formats.wildcards import PLAIN, Syntax

MAY = {"send": ["put"], "consume": ["get", "inquire"], "browse": ["browse", "inquire"]}
ELSEWHERE = (
    "No authority is needed here for what a client makes for itself: subscriptions and"
    " temporary queues. Who manages has a role (docs/rights.md)."
)
WHO_MANAGES = dict.fromkeys(
    [
        *("createDurableQueue", "deleteDurableQueue", "createNonDurableQueue"),
        *("deleteNonDurableQueue", "createTempQueue", "deleteTempQueue"),
        *("createAddress", "deleteAddress", "manage", "view", "edit"),
    ],
    ELSEWHERE,
)
ALL_COUNT = (
    "There, only the most specific setting of an address counts; here a user has the"
    " authorities of all that match. Check the more general ones."
)
PLUGIN = "It takes rights from LDAP or from a file there. See docs/single-sign-on.md."
MAPPED = "Its roles are granted to these names, too."


def convert_rights(group: Element, syntax: Syntax, found: Converted) -> None:
    mapping: dict[str, list[str]] = defaultdict(list)
    for one in group.named("role-mapping"):
        external = one.attributes.get("from", "").strip()
        for role in roles_of(one.attributes.get("to", "")):
            mapping[role].append(external)
        found.parts.name(MAPPED, one.path)
    settings = [one for one in group.children if one.name == "security-setting"]
    for one in settings:
        convert_setting(one, syntax, mapping, found)
    for one in group.children:
        if one.name == "security-setting-plugin":
            found.parts.name(PLUGIN, one.path)
    if len(settings) > 1:
        matches = [one.at("match") for one in settings if "match" in one.attributes]
        found.parts.name(ALL_COUNT, *matches)


def convert_setting(
    setting: Element,
    syntax: Syntax,
    mapping: Mapping[str, list[str]],
    found: Converted,
) -> None:
    said = setting.attributes.get("match", "")
    try:
        if placeholders.is_open(said):
            raise ValueError(placeholders.UNKNOWN)
        pattern = artemis_patterns.translated(said, syntax, PLAIN)
    except ValueError as error:
        found.parts.name(f"These rights are left out. {error}", setting.path)
        return
    may: dict[str, list[str]] = defaultdict(list)
    sources: dict[str, list[Path]] = defaultdict(list)
    for permission in setting.children:
        kind = permission.attributes.get("type", "")
        if permission.name != "permission" or kind not in MAY:
            why = WHO_MANAGES.get(kind, "There is no such permission in Artemis.")
            found.parts.name(why, permission.path)
            continue
        for role in roles_of(permission.attributes.get("roles", "")):
            for one in (role, *mapping.get(role, ())):
                may[one] += MAY[kind]
                sources[one].append(permission.path)
    for role, granted in may.items():
        paths = [setting.at("match"), *sources[role]]
        found.grant(f"group:{role}", pattern, granted, *paths)


def roles_of(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
