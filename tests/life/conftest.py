"""What these tests need of more than one major of PostgreSQL."""

import functools
import subprocess
from pathlib import Path

import pytest

from own_server import HOUSE


@pytest.fixture(scope="session")
def programs():
    """The folder of the programs of another major, which has the extension too."""
    @functools.cache
    def programs_of(major):
        script = HOUSE / "scripts/majors.sh"
        done = subprocess.run([script, "extended", str(major)], stdout=subprocess.PIPE, text=True, check=True)
        return Path(done.stdout.strip())

    return programs_of
