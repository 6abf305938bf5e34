"""The rules, one a file; `registry` finds them by looking into this folder."""
