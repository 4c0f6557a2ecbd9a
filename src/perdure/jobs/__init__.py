"""Promises kept later, ignorant of what they promise."""
