"""Models that think and models that compare: chat endpoints, embedders, one that comes along."""
