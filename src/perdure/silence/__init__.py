"""Connections of drivers that give up a server that has fallen silent."""
