"""Build step of the wheel: puts templates and static files into their applications.

In the tree they lie at the top; in an installed package Django finds them only below an
application. ``dashboards`` owns its templates; all else is the console's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Assets(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map the folders; ``version`` is hatchling's: standard or editable."""
        if version == "editable":
            return
        tree = Path(self.root)
        files = build_data["force_include"]
        files["static"] = "console/static/console"
        for one in (tree / "templates").iterdir():
            owner = "dashboards" if one.name == "dashboards" else "console"
            files[f"templates/{one.name}"] = f"{owner}/templates/{one.name}"
