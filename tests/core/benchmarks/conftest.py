"""Benchmarks are scripts beside each other; they import one another from there."""

from __future__ import annotations

import sys
from pathlib import Path


sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
