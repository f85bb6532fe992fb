"""The requests of transactional producers, of their coordinators and of administrators, a file a family."""
