"""Patches come off without a trace."""

import sys
import types

from betterhalf.keras_seams.patching import Patches


class Parent:
    def swim(self):
        return "parent"


class Child(Parent):
    pass


def test_an_own_attribute_is_put_back_as_the_same_object():
    before = vars(Parent)["swim"]
    patches = Patches()
    patches.replace(Parent, "swim", lambda self: "patched")
    assert Parent().swim() == "patched"
    patches.undo()
    assert vars(Parent)["swim"] is before


def test_an_inherited_attribute_is_inherited_again():
    patches = Patches()
    patches.replace(Child, "swim", lambda self: "patched")
    patches.undo()
    assert "swim" not in vars(Child)


def test_patches_on_patches_come_off_in_order():
    before = vars(Parent)["swim"]
    patches = Patches()
    patches.replace(Parent, "swim", lambda self: "one")
    patches.replace(Parent, "swim", lambda self: "two")
    patches.undo()
    assert vars(Parent)["swim"] is before


def test_every_alias_in_a_package_is_replaced(monkeypatch):
    def original():
        pass

    for name in ("pond", "pond.edge", "ponderous"):
        module = types.ModuleType(name)
        module.act = original
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["pond"].alias = original
    patches = Patches()
    patches.replace_everywhere("pond", original, "new")
    assert sys.modules["pond"].act == sys.modules["pond"].alias == "new"
    assert sys.modules["pond.edge"].act == "new"
    assert sys.modules["ponderous"].act is original
    patches.undo()
    assert sys.modules["pond"].act is sys.modules["pond"].alias is original
