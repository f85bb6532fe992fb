"""The requests to a partition's leader (consumers may fetch from followers too), one file a request."""
