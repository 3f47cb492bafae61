"""Waiting for a condition, without a guess of how long it takes."""
import time


def wait_for(what, condition, limit=120.0):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f'no {what} within {limit} s')
