"""Configurations: what there is to set on topics, brokers and groups, which value is in effect, and who may alter it.

In reading order:

    definition.py         what a configuration is: type, default, allowed values; how a text becomes a value, and back
    table.py              every topic configuration of Kafka 4.3, and the broker configurations that this broker reads
    unused.py             Kafka's other broker configurations, from the data in unused.tsv: known; ignored or refused
    effective.py          a broker's own file, and the value in effect: topic, broker, cluster, file, default
    group_and_metrics.py  the configurations of groups and of client metrics subscriptions
    alter.py              IncrementalAlterConfigs and AlterConfigs: the checks of the broker and of the controller
    api/                  describe.py: DescribeConfigs; alter.py: the two above and ListConfigResources

It promises: what DescribeConfigs shows is what the broker uses (I-CFG-4); a configuration without effect is never accepted
in silence (I-CFG-2); a resource is altered in whole or not at all. Refusals are in Kafka's words.

It knows metadata/ (the image holds what was altered at run time). controller/ commits the alterations.
"""
