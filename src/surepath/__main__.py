"""`python -m surepath` is the `surepath` command.

Python searches the working directory for modules first when it is started so. What is there is the user's data, not
code to be run, so the directory is taken off the list, as the `surepath` command never has it there.
"""

import os
import sys

if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.path.abspath(os.curdir)):
    del sys.path[0]

from surepath.cli.main import run

run()
