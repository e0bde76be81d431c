"""Trials that are run in this process, until the answer is proven or the budget is spent.

Read `runner.py` (ask, perform, record, with leases renewed meanwhile) over `performed.py` (what came of a trial);
then the two ways to perform one: `optimize.py` calls a function; `command.py` starts a program, and `printed.py` reads
what it prints.
"""
