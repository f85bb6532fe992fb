"""Imported before nbformat or JupyterLab, this module makes their start shorter.

Both import jsonschema, and jsonschema imports `rfc3987_syntax` if it is there; that compiles a grammar for each format of a URI.
Nothing here needs them; without the module jsonschema leaves these formats unchecked.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: an import of it is an ImportError
