"""Where requests are checked, and the requests about access lists."""
