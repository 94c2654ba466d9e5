"""Follows the lines of the Dockerfile without a container engine.

    manage.py with_servers python -m tests.tools.dockerfile

Each stage is a directory: COPY copies into it, and RUN runs with the paths of the image
replaced by it. Then all processes of the image start on the servers of
``with_servers``, the healthcheck asks ``web``, and SIGTERM ends them. Not followed:
FROM (the Python that runs this is used), and lines that make or need another user.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

TREE = Path(__file__).resolve().parents[2]
OURS = re.compile(r"/(?:opt|var/lib)/backout")
NEEDS_ROOT = ("useradd", "install -d -o")
READY_WITHIN_S = 60
RUNS_S = 10  # what cannot work has ended by then


def lines() -> Iterator[tuple[str, str]]:
    """Each instruction of the Dockerfile with its arguments, each on one line."""
    for line in (TREE / "Dockerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


class Stage:
    """The file system and the environment that one FROM begins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.here = root
        self.environment: dict[str, str] = {}

    def inside(self, text: str) -> str:
        return OURS.sub(lambda found: f"{self.root}{found[0]}", text)

    def run(self, command: str) -> None:
        if command.startswith(NEEDS_ROOT):
            print("  not followed: it needs root")
            return
        here = self.inside(command).replace("python3 ", f"{sys.executable} ", 1)
        environment = {**os.environ, **self.environment}
        subprocess.run(here, shell=True, check=True, cwd=self.here, env=environment)

    def copy(self, words: list[str], stages: dict[str, Stage]) -> None:
        options = dict(one[2:].split("=") for one in words if one.startswith("--"))
        *sources, target = (one for one in words if not one.startswith("--"))
        source = stages[options["from"]] if "from" in options else None
        to = Path(self.inside(target)) if target.startswith("/") else self.here / target
        for one in sources:
            found = Path(source.inside(one)) if source else TREE / one
            if found.is_dir():
                skip = None if source else shutil.ignore_patterns("__pycache__")
                shutil.copytree(
                    found, to, symlinks=True, ignore=skip, dirs_exist_ok=True
                )
            else:
                to.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, to)


def follow(scratch: Path) -> tuple[Stage, list[str]]:
    """All lines; returns the last stage and the command of its healthcheck."""
    stages: dict[str, Stage] = {}
    stage, health = Stage(scratch), list[str]()
    for word, rest in lines():
        print(time.strftime("%H:%M:%S"), word, rest[:100], flush=True)
        match word:
            case "FROM":
                name = rest.partition(" AS ")[2] or "image"
                stage = stages[name] = Stage(scratch / name)
            case "WORKDIR":
                stage.here = Path(stage.inside(rest))
                stage.here.mkdir(parents=True, exist_ok=True)
            case "COPY":
                stage.copy(rest.split(), stages)
            case "RUN":
                stage.run(rest)
            case "ENV":
                pairs = (one.split("=", 1) for one in shlex.split(stage.inside(rest)))
                stage.environment |= dict(pairs)
            case "HEALTHCHECK":
                health = re.findall(r'"([^"]+)"', rest)
    return stage, health


def relocate(image: Stage) -> None:
    """A virtual environment has its place in its scripts; the image's is the same."""
    virtual = image.here / ".venv"
    built = f"{image.root.parent / 'build'}/"
    for script in (virtual / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            script.write_bytes(text.replace(built.encode(), f"{image.root}/".encode()))


def serve(image: Stage, health: list[str]) -> None:
    """Start all processes as the image does, ask the healthcheck, end all."""
    environment = {
        **os.environ,
        **image.environment,
        "HOST": "127.0.0.1",
        "PORT": "18000",
        "SECRET_KEY": "x" * 50,
        "BROKER_AMQP_PORT": "15672",
    }
    process = image.here / "deploy" / "process"
    subprocess.run(
        [process, "manage", "migrate", "--no-input", "--verbosity=0"],
        env=environment,
        check=True,
    )
    names = re.findall(r"^(\w+):", (TREE / "Procfile").read_text(), re.M)
    running = {
        name: subprocess.Popen([process, name], env=environment) for name in names
    }
    began = time.monotonic()
    try:
        while subprocess.run(health, cwd=image.here, env=environment).returncode:
            assert running["web"].poll() is None, "the web process has ended"
            assert time.monotonic() - began < READY_WITHIN_S, "it is never ready"
            time.sleep(0.5)
        print(f"ready after {time.monotonic() - began:.1f} s")
        time.sleep(RUNS_S)
        ended = {name: one.poll() for name, one in running.items()}
        assert set(ended.values()) == {None}, f"ended by themselves: {ended}"
    finally:
        for one in running.values():
            one.send_signal(signal.SIGTERM)
        print("ended:", {name: one.wait(30) for name, one in running.items()})


if __name__ == "__main__":
    with TemporaryDirectory(dir=os.environ.get("TMPDIR")) as made:
        image, health = follow(Path(made))
        relocate(image)
        size = subprocess.check_output(["du", "-sm", image.root], text=True).split()[0]
        print(f"the image's own files: {size} MB")
        serve(image, health)
