"""SQL is the truth: every memory, message, promise and index lives in one database."""
