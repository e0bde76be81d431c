"""Sphinx settings: MyST markdown and the furo theme."""

from surepath import __version__

project = "surepath"
author = "The surepath authors"
project_copyright = "The surepath authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
default_role = "literal"  # docstrings mark code by single backticks
add_module_names = False
suppress_warnings = ["ref.python"]  # names such as epsilon are attributes of several classes
exclude_patterns = ["_build", "_generated"]
html_theme = "furo"
html_title = f"surepath {release}"
html_extra_path = ["problem.schema.json"]
