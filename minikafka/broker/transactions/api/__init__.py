"""The handlers of requests from transactional producers, from coordinators and from administrators."""
