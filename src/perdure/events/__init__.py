"""The way out of one process: promises are announced on a bus, and come back as jobs."""
