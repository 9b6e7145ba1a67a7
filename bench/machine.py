"""The machine that the results come from."""

import os
import platform
from datetime import datetime, timezone
from pathlib import Path


def facts():
    return {
        "cores": os.cpu_count(),
        "processor": field("/proc/cpuinfo", "model name"),
        "memory_gb": round(int(field("/proc/meminfo", "MemTotal").split()[0]) / 1024**2),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        # How busy it was with other things when the measurement began.
        "load_before": round(os.getloadavg()[0], 2),
        "measured_at": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def field(path, name):
    """The first value of that name in a file of `name: value` lines."""
    lines = (line.partition(":") for line in Path(path).read_text(encoding="utf-8").splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "unknown")


def sentence(result):
    machine, settings = result["machine"], result["settings"]
    return (f"PostgreSQL {settings['server_version'].split()[0]} on {machine['cores']} cores of {machine['processor']}, "
            f"{machine['memory_gb']} GB, {machine['system']} (load {machine['load_before']} before it began)")
