"""Imported before nbformat or JupyterLab, this module saves their process a second and a half.

Both import jsonschema, and jsonschema imports `rfc3987_syntax` if it is there; that compiles 38 grammars for the formats of URIs.
Nothing here needs them; without the module jsonschema leaves these formats unchecked.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: an import of it is an ImportError
