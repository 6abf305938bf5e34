"""Audits a model and its training set-up: facts in a view, and rules that read them.

`from_keras` is the only part that knows Keras; it makes a `ModelView`. A rule, one file
each in `rules/`, reads the view and nothing else, so that it can be tested without a
framework. `running` runs them all; one that raises becomes a finding about itself.
"""
