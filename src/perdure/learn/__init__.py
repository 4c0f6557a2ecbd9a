"""From a finished turn to checked changes of what is remembered."""
