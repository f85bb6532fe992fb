"""Access lists (ACLs): who may do what, and where each request is checked.

    acl.py                    the words of Kafka's access lists: resources, operations, permissions, bindings and filters
    standard_authorizer.py    StandardAuthorizer: allow or deny, with the rule that decided
    acl_control_manager.py    which records create and delete bindings: decided by the controller
    api/rules.py              the table: API -> operation, resource, error code
    api/enforcement.py        the check around each handler, by that table
    api/guards.py             the checks that a row of the table cannot say; api/described_guards.py: those of Metadata and others
    api/acls.py               CreateAcls, DeleteAcls, DescribeAcls

An authorizer is set by `authorizer.class.name`; without it nothing here runs but the refusals of acls.py.
"""
