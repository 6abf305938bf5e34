"""Experiments: what will run, running it, and what is kept of it. The parent's side.

A trial is a child process, and how it ends is data. Nothing here imports a framework,
and nothing here decides: `judging` says which trials are still worth running, and what
follows from those that ended.
"""
