"""How Sphinx builds the site. ``build.py`` beside this file calls it."""

import os
import sys
from typing import Any

import discreto

sys.path.insert(0, os.environ["DISCRETO_SITE"])
import docstrings

project = "discreto"
author = "The discreto authors"
copyright = author
version = release = discreto.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
default_role = "literal"

# Headings are found under the names that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

# Docstrings: numpydoc with a section of our own.
napoleon_google_docstring = False
napoleon_custom_sections = [
    "Privacy",
    "How to drive it",
    ("Attributes", "params_style"),
]
napoleon_use_rtype = False
napoleon_preprocess_types = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "__new__"}
autodoc_class_signature = "mixed"

# Prompts and outputs are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"discreto {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def setup(app: Any) -> None:
    """Let docstrings be changed before napoleon reads them."""
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
