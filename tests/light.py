"""A plugin that pytest loads before nbval (`-p tests.light`, in the Makefile), so that no worker compiles grammars."""

import minikafka.machine.grammars  # noqa: F401
