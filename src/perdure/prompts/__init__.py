"""What we say to a model: one file per question, in English and Chinese."""
