"""Hosts: what surrounds a device in the world outside, so that programs made for it run as they are."""
