"""The exact edit that turns a policy on in a script, as an arm did while it was tried.

A trial puts the policy in place before the script builds anything, overrides what the
script sets itself, and computes the outputs in float32. The edit does the same three
things in the script's own words, as far as its text shows them beyond doubt.
"""

from __future__ import annotations

import difflib
import io
import tokenize


def show_policy_edit(source: bytes, policy: str, name: str) -> str | None:
    r"""Shows how a script turns a dtype policy on, as a unified diff.

    Args:
        source: the script as it is on disk; its encoding, line ends and formatting are
            kept.
        policy: a Keras dtype policy, such as `mixed_bfloat16`.
        name: of the script in the headers, `a/NAME` and `b/NAME`.

    Returns:
        The diff; empty if the script needs no edit; `None` as for `enable_policy`.

    Example:
        >>> print(show_policy_edit(b"import keras\n", "mixed_bfloat16", "train.py"))
        --- a/train.py
        +++ b/train.py
        @@ -1 +1,3 @@
         import keras
        +
        +keras.mixed_precision.set_global_policy("mixed_bfloat16")
        <BLANKLINE>
    """
    edited = enable_policy(source, policy)
    if edited is None:
        return None
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    before, after = (
        _lines(text.decode(encoding.removesuffix("-sig"))) for text in (source, edited)
    )
    end = "\t" if " " in name else ""  # a tab ends a name that holds spaces
    headers = f"a/{name}{end}", f"b/{name}{end}"
    return "".join(map(_ended, difflib.unified_diff(before, after, *headers)))


def enable_policy(source: bytes, policy: str) -> bytes | None:
    """Returns a script that turns a dtype policy on.

    The policy is set right after the imports and before anything is built, behind a
    `clear_session` that would reset it. Calls of `set_global_policy` and
    `set_dtype_policy` that the script has get the policy instead; where none of them
    surely comes in time, one is added. Output layers that are written out get
    `dtype="float32"` unless they have a dtype: the last of a `Sequential` list, the
    last `.add(...)`, the layer call that gives the `outputs` of a `Model`; and where
    such a layer has no weights, the one that feeds it.

    Args:
        source: the script as it is on disk.
        policy: a Keras dtype policy, such as `mixed_bfloat16`.

    Returns:
        The edited script, equal to `source` if there is nothing to change; `None` if it
        cannot be parsed or imports Keras in no way that is known here.
    """
    # libcst is loaded here and not before: most commands never edit a script
    from betterhalf.editing._names import read_names  # noqa: PLC0415
    from betterhalf.editing._outputs import find_output_layers  # noqa: PLC0415
    from betterhalf.editing._places import find_place, find_policy_calls  # noqa: PLC0415
    from betterhalf.editing._writing import write_edits  # noqa: PLC0415

    try:
        names = read_names(source)
        place = None if names is None else find_place(names)
        if names is None or place is None:
            return None
        outputs = [] if policy == "float32" else find_output_layers(names)
        return write_edits(names, place, find_policy_calls(names), outputs, policy)
    except RecursionError:
        return None  # nested more deeply than libcst can walk


def _lines(text: str) -> list[str]:
    r"""Returns the lines as `patch` sees them: only "\n" ends one."""
    lines = text.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _ended(line: str) -> str:
    """Marks a line that has no end in the script."""
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
