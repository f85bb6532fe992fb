"""The longer experiments of the labs, one module a lab: a student may open, read and change them."""
