"""What a computer must have, and what set-up gives it: settings of the environment, a Java, Kafka's and Spark's jars.

    environment.py    which variables of other projects are set aside, and which variables we set
    files.py          the cache folder, files that are written whole, paths that Java can read
    java.py           the Java that is there, or a Java from a Python package
    class_archive.py  the classes of a Java program as they lay in memory: its next start is shorter
    jars.py           Apache Kafka and Spark's connectors, by the list in jars.tsv
    grammars.py       what JupyterLab need not compile when it is imported
    download.py       one file over HTTP, with its checksum; trust.py: the certificates that this computer trusts

Nothing here knows the broker, and the broker knows nothing of it.
"""
