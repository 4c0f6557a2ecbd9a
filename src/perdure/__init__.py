"""A long-term memory for assistants: capture what was said, recall what matters, say why."""
