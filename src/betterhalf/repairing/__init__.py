"""Puts right what an arm's set-up gets wrong, one repair a file, and lists each one."""

from betterhalf.repairing.repairs import Repairs as Repairs
