"""Commands of the console."""

import os
import sys

# Of rich, only a help page needs what shows Markdown and code; to load that takes
# other subcommands longer than their work does.
os.environ.setdefault("TYPER_USE_RICH", str(int("--help" in sys.argv)))
