"""Intervals, equivalence, looks and power: plain numbers in, plain numbers out.

numpy and scipy are imported by the module that computes with them, so importing this
package loads neither; `scipy.special` alone is used, because `scipy.stats` takes four
times as long to import.
"""
