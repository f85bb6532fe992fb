"""Spark as it is installed here: the folder that it starts from, and its Java classes as they lay in memory.

A session loads some 15,000 classes, and Java reads, checks and links each of them whenever it starts: half of what a start
costs. Java can write the classes of a running machine into a file, an *archive*, and map that file the next time ("class data
sharing", JEP 310 and 350). classes.py makes the archive.

Owns: one folder in the cache for each installed Spark, and in it an archive for each Java.
Invariants
  I-SPARK-16  Workers of a local session import PySpark from where the driver has it, compiled once for all.
  I-SPARK-17  A missing archive, or one that does not fit, costs time and nothing else: Java looks whether it fits, and loads its
              classes as ever where it does not.
"""
import contextlib
import zlib
from pathlib import Path

import pyspark

from minikafka.machine.files import cache_folder
from minikafka.machine.java import archive_for, find_java

SAYS_NOTHING = "-Xlog:disable"  # that an archive does not fit, or only in part, is no news for a student's cell


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
    return archive_for(home / "classes", find_java().executable.resolve(), sorted((home / "jars").iterdir()))


def with_archive() -> str:
    """Return the options by which Java starts from the archive; none where there is no archive (I-SPARK-17)."""
    return f"-XX:SharedArchiveFile={path} {SAYS_NOTHING}" if (path := archive()).exists() else ""
