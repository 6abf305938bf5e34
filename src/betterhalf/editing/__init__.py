"""Edits a user's script, and only on paper: what comes out is a diff to read.

libcst, which keeps a script's formatting, is imported by the private modules here; the
public ones load them on first use, so that importing this package stays cheap.
"""
