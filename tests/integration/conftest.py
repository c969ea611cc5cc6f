# SPDX-License-Identifier: GPL-3.0-or-later
"""One service for all tests here: booting it costs minutes."""

from __future__ import annotations

import pytest

from tests.lab.image.build import build_image
from tests.lab.image.release import BOOKWORM, RELEASES
from tests.service.demo import INPUTS
from tests.service.progress import Progress
from tests.service.run_directory import new_run_directory
from tests.service.service import Service, take_down
from tests.service.teller import Teller

_failed = False


def pytest_addoption(parser):
    """The same tests hold on every release."""
    parser.addoption(
        "--release", choices=RELEASES, default=BOOKWORM.suite, help="Debian release of the hosts (default: %(default)s)"
    )


def pytest_runtest_logreport(report):
    """Remember whether a test failed: the hosts' logs are then shown before they are gone."""
    global _failed
    _failed = _failed or report.failed


@pytest.fixture(scope="session")
def progress():
    """Says what is waited for, below the test's own line."""
    return Progress(say=lambda text: print(f"\n    {text}", end="", flush=True))


@pytest.fixture(scope="session")
def release(request):
    """Debian release of the hosts."""
    return RELEASES[request.config.getoption("--release")]


@pytest.fixture(scope="session")
def image(progress, release):
    """Path of the image that this checkout's collection is baked into."""
    return build_image(progress.tell, release)


@pytest.fixture(scope="session")
def service(image, progress):
    """The demo's service, RUNNING, with one worker."""
    directory = new_run_directory()
    try:
        service = Service.create(directory, image, inputs=INPUTS, progress=progress)
        try:
            service.wait_running()
            service.make_user_home()
            yield service
        finally:
            if _failed:
                print(service.logs(), flush=True)
    finally:
        take_down(directory)


@pytest.fixture(scope="session")
def story(service):
    """The demo's story, told once."""
    return Teller(service).tell()
