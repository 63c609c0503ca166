"""Configuration of the site: ``make docs``, or ``python -m sphinx -W docs build/site``.

Everything that pages use is in the built folder: no script, font or style is fetched from elsewhere. Pages that are
written from the code (``reference/``) and documents of the repository's root are made when a build begins; see
``docs/site_pages.py``.
"""
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import phintys  # noqa: E402  (the installed package, as users have it)

project, author = "phintys", "the phintys developers"
version = release = phintys.__version__
extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton", "site_pages"]

exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
language = "en"
default_role = "literal"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
# What is not a page of the site: files of the repository, which are named but not linked.
myst_links_external_new_tab = False

# ---- notebooks: run at each build, one kernel each, and an error fails the build ------------------------------------
nb_execution_mode = os.environ.get("PHINTYS_DOCS_NOTEBOOKS", "cache")
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js = {}                       # they would come from the network, and no notebook has widgets

# ---- looks ---------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = f"phintys {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "phintys"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "quickstart": [], "installation": [], "migration": [], "faq": [], "comparison": []}
html_show_sourcelink = True
html_copy_source = True
toc_object_entries_show_parents = "hide"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
project_copyright = "the phintys developers"
