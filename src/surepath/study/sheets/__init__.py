"""Trials as rows of a table, written from a study and read back into one.

Read `rows.py` (the columns), `sheet.py` (CSV sheets to be filled in, and read back), `past.py` (results from before the
study), `frames.py` (polars and pandas), then `export.py` and `restore.py` (the whole log as a file).
"""

from surepath.study.sheets.sheet import read_sheet as read_sheet
from surepath.study.sheets.sheet import sheet_text as sheet_text
