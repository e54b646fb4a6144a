from __future__ import annotations

from calibdash.service import throttle as module
from calibdash.service.throttle import Throttle


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_few_failures_cost_nothing_then_each_costs_more() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(4):
        throttle.failed("ann", "10.0.0.1")
    assert throttle.wait("ann", "10.0.0.1") == 0
    waits = []
    for _ in range(12):
        throttle.failed("ann", "10.0.0.1")
        waits.append(throttle.wait("ann", "10.0.0.1"))
        clock.now += waits[-1]
        assert throttle.wait("ann", "10.0.0.1") == 0
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_others_are_not_kept_out() -> None:
    throttle = Throttle(Clock())
    for _ in range(15):
        throttle.failed("ann", "10.0.0.1")
    assert throttle.wait("ann", "10.0.0.1") > 0
    assert throttle.wait("ann", "10.0.0.2") == 0
    assert throttle.wait("bob", "10.0.0.1") == 0


def test_one_address_with_many_names_and_one_name_from_many_addresses_wait_too() -> None:
    throttle = Throttle(Clock())
    for number in range(25):
        throttle.failed(f"user{number}", "10.0.0.1")
    assert throttle.wait("somebody", "10.0.0.1") > 0
    throttle = Throttle(Clock())
    for number in range(110):
        throttle.failed("ann", f"10.0.1.{number}")
    assert throttle.wait("ann", "10.9.9.9") > 0
    assert throttle.wait("bob", "10.9.9.9") == 0


def test_success_and_time_forget() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(8):
        throttle.failed("ann", "10.0.0.1")
    throttle.succeeded("ann", "10.0.0.1")
    assert throttle.wait("ann", "10.0.0.1") == 0
    for _ in range(30):
        throttle.failed("bob", "10.0.0.1")
    clock.now += module.FORGOTTEN + 1
    assert throttle.wait("bob", "10.0.0.1") == 0
    throttle.failed("bob", "10.0.0.1")
    assert throttle.wait("bob", "10.0.0.1") == 0


def test_memory_is_bounded() -> None:
    throttle = Throttle(Clock())
    for number in range(module.MOST_KEPT):
        throttle.failed(f"{number}" + "x" * 10_000, f"{number}")
    assert len(throttle._failures) == module.MOST_KEPT
    assert max(len(part) for key in throttle._failures for part in key) <= 200
