"""Commands of the console."""

import os
import sys

# Typer would load a part of rich that shows Markdown and code. Only help pages need it,
# and to load it takes longer than the work of most subcommands.
os.environ.setdefault("TYPER_USE_RICH", str(int("--help" in sys.argv)))
