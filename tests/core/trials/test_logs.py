from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from betterhalf.trials.logs import (
    LINE_LENGTH,
    TAIL_BYTES,
    TAIL_LINES,
    Shortener,
    read_end,
    take_tail,
)


def write(content: bytes) -> Path:
    path = Path("trial.log")
    path.write_bytes(content)
    return path


def test_the_end_of_a_gigabyte_is_read_without_reading_the_rest():
    path = Path("trial.log")
    with path.open("wb") as file:
        file.truncate(1 << 30)  # sparse
        file.seek(0, os.SEEK_END)
        file.write(b"\nValueError: the end\n")
    text = read_end(path)
    assert len(text) <= TAIL_BYTES
    assert take_tail(text).endswith("ValueError: the end")


def test_a_tail_is_short_however_long_the_log():
    tail = take_tail("\n".join(f"{n} " + "x" * 10_000 for n in range(1000)))
    assert len(tail.split("\n")) == TAIL_LINES
    assert max(map(len, tail.split("\n"))) == LINE_LENGTH + 1


def test_bytes_that_are_no_text_are_shown_as_such():
    assert (
        read_end(write(b"ok\n\xff\xfe\x80bytes\n")) == "ok\n\ufffd\ufffd\ufffdbytes\n"
    )


def test_a_progress_bar_is_shown_as_a_terminal_would():
    bar = b"1/3 [=>..]\r2/3 [==>.]\r3/3 [====] - loss: 0.5\r\nnext\r\n"
    assert read_end(write(bar)) == "3/3 [====] - loss: 0.5\nnext\n"


def test_colours_titles_and_bells_are_left_out():
    log = b"\x1b[1m\x1b[32mgreen\x1b[0m \x1b]0;title\x07text\x07\x00\n\x1b[2Kline\n"
    assert read_end(write(log)) == "green text\nline\n"


def test_no_log_is_an_empty_one():
    assert read_end(Path("missing.log")) == ""
    assert take_tail("") == ""


@given(st.binary(max_size=300))
def test_any_log_gives_text_that_is_safe_to_print(content):
    text = read_end(write(content))
    assert all(char.isprintable() or ord(char) > 159 or char in "\n\t" for char in text)
    text.encode()


def test_the_home_and_the_working_directory_are_shortened(tmp_path):
    home, folder = Path("/home/ada"), Path("/home/ada/lab")
    shorten = Shortener(folder, home).shorten
    assert shorten('File "/home/ada/lab/train.py", line 3') == (
        'File "./train.py", line 3'
    )
    assert shorten("/home/ada/.keras/keras.json") == "~/.keras/keras.json"
    assert shorten("cd /home/ada/lab.") == "cd .."
    assert shorten("in /home/ada/lab: no") == "in .: no"


def test_what_only_looks_like_them_is_left_alone():
    shorten = Shortener(Path("/home/ada/lab"), Path("/home/ada")).shorten
    for text in ("/home/adam/x", "/home/ada-2", "/backup/home/ada/lab2/x", "/home"):
        assert shorten(text) == text.replace("/home/ada/", "~/", 0)
    assert shorten("/home/ada/lab.old/x") == "~/lab.old/x"


def test_a_root_is_no_name_to_hide():
    assert Shortener(Path("/"), Path("/")).shorten("a/b /c") == "a/b /c"


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    shorten = Shortener(tmp_path / "link", Path("/home/ada")).shorten
    assert shorten(f"{tmp_path}/real/a {tmp_path}/link/b") == "./a ./b"
