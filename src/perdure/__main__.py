"""``python -m perdure`` is the command line."""

from __future__ import annotations

from perdure.cli import main

main()
