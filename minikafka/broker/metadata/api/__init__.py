"""The requests that are answered from the image: metadata.py, describe_topic_partitions.py and describe_cluster.py."""
