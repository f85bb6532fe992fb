"""APIs that administrators' tools expect and that change nothing in how this broker serves; no reading path needs them.

    scram.py   the credentials of users, kept as metadata, by which they log in (server/login.py)
    api/       scram.py: AlterUserScramCredentials and DescribeUserScramCredentials
               delegation_tokens.py: tokens in place of passwords, decided in metadata/delegation_tokens.py
               security_disabled.py: SASL where it is not, answered with Kafka's refusal

It promises: nothing derived from a password is ever described. It knows metadata/ only.
"""
