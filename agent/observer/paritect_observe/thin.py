"""Which of many like records are written, so that weeks of training stay within the file."""


def step(n):
    """All to 20, then every 50th; from 10,000 on every 500th, from 1,000,000 on every 5000th."""
    if n <= 20:
        return True
    return n % (50 if n < 10000 else 500 if n < 1000000 else 5000) == 0


def series(n):
    """1, 2, 5, 10, 20, 50, ..."""
    while n >= 10 and n % 10 == 0:
        n //= 10
    return n in (1, 2, 5)


def power(n):
    """1, 10, 100, ..."""
    while n >= 10 and n % 10 == 0:
        n //= 10
    return n == 1


def replica(n):
    return n <= 2 or n % 500 == 0


class Once(object):
    """What was told already; up to a number of different ones."""

    def __init__(self, most):
        self.most = most
        self.told = set()

    def first(self, key):
        if key in self.told or len(self.told) >= self.most:
            return False
        self.told.add(key)
        return True
