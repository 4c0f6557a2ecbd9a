"""The service: the front door over HTTP."""

DEFAULT_NAMESPACE = "default"
"""Of everybody, where no key is configured."""
