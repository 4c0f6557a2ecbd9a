"""What time it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Now, aware, in UTC."""
