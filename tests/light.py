"""A plugin that pytest loads before nbval (`-p tests.light`, in the Makefile): it saves each process two seconds.

nbval imports jsonschema, and jsonschema imports `rfc3987_syntax` if it is there, which compiles 38 grammars for the formats of
URIs. No test needs them; without the module jsonschema leaves these formats unchecked.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: an import of it is an ImportError
