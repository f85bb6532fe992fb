"""Spark as it is installed here: the folder that it starts from, and the archive of its Java classes (machine/class_archive.py).

Owns: one folder in the cache for each installed Spark, and in it an archive for each Java; classes.py makes the archive.
Invariants
  I-SPARK-16  Workers of a local session import PySpark from where the driver has it, compiled once for all.
"""
import contextlib
import zlib
from pathlib import Path

import pyspark

from minikafka.machine.class_archive import archive_for
from minikafka.machine.files import cache_folder


def spark_home() -> Path:
    """Return a folder in the cache with all of the installed Spark but its copy of PySpark in a zip file (I-SPARK-16).

    Python workers look into that file first, if it is there, and compile what they import from it each time they start: 1.1 s
    of processor time instead of 0.4, for each plan of a query on our Python source.
    """
    installed = Path(pyspark.__file__).resolve().parent
    home = cache_folder() / "spark" / f"{pyspark.__version__}-{zlib.crc32(bytes(installed)):08x}"
    home.mkdir(parents=True, exist_ok=True)
    for part in ("bin", "jars"):
        if not (home / part).is_symlink():
            with contextlib.suppress(FileExistsError):  # two sessions start at once
                (home / part).symlink_to(installed / part)
    return home


def archive() -> Path:
    """Return the path of the archive for the Java and the Spark of this machine, whether or not it is there."""
    home = spark_home()
    return archive_for(home / "classes", sorted((home / "jars").iterdir()))
