"""Projections of SQL by meaning; each can be thrown away and made anew."""
