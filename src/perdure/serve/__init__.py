"""The service: the front door over HTTP."""
