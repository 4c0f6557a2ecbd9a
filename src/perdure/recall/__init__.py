"""From a question to a text: the few memories that matter now, and why."""
