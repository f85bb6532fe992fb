"""The controller's life on a node, and a broker's way to the controller."""
