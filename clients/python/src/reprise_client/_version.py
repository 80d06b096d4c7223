"""The version of this package, which is that of the server that brings it."""

__version__ = "0.1.0"
