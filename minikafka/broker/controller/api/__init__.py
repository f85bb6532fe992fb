"""The requests that the controller decides, from the wire to the decision and back."""
