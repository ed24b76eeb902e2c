"""What can be known of a kernel before code is made: control flow, liveness, uniform registers, NaNs."""
