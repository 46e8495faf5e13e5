#!/usr/bin/env python3
"""Independent values for checks/numbers/statistics_test.cc: standard library only, other methods than the product.

Distributions are integrated numerically (Simpson's rule over the density) and inverted by bisection; Fisher's
test counts with exact integers (math.comb); Welch and TOST use statistics.fmean/variance. Without arguments the
values are printed; `--check FILE` compares them with the table between the REFERENCE marks of that file.
"""
import math
import re
import statistics
import sys
from fractions import Fraction


def simpson(f, low, high, n=20000):
    h = (high - low) / n
    total = f(low) + f(high)
    for i in range(1, n):
        total += f(low + i * h) * (4 if i % 2 else 2)
    return total * h / 3


def t_density(x, v):
    log_c = math.lgamma((v + 1) / 2) - math.lgamma(v / 2) - 0.5 * math.log(v * math.pi)
    return math.exp(log_c - (v + 1) / 2 * math.log1p(x * x / v))


def t_cdf(t, v):
    return 0.5 + simpson(lambda x: t_density(x, v), 0.0, t)


def chi2_cdf(x, v):
    # Substituting x = y^2 takes the singularity at 0 away for one degree of freedom.
    log_c = -math.lgamma(v / 2) - v / 2 * math.log(2)
    return simpson(lambda y: 2 * y ** (v - 1) * math.exp(log_c - y * y / 2), 1e-12, math.sqrt(x))


def invert(cdf, p, low, high):
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if cdf(mid) < p else (low, mid)
    return (low + high) / 2


def welch(a, b):
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    d = statistics.fmean(b) - statistics.fmean(a)
    t = d / math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
    return d, t, df, math.sqrt(va + vb)


def fisher(a, n, b, m):
    total = math.comb(n + m, a + b)
    p = [Fraction(math.comb(n, x) * math.comb(m, a + b - x), total) for x in range(max(0, a + b - m), min(a + b, n) + 1)]
    mine = Fraction(math.comb(n, a) * math.comb(m, b), total)
    return float(sum(x for x in p if x <= mine))


def binomial_cdf(k, n, p):
    """Exact terms added up, no beta function."""
    return math.fsum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))


def rate_low(k, n):
    return 0.0 if k == 0 else invert(lambda p: 1 - binomial_cdf(k - 1, n, p), 0.025, 0, 1)


def rate_high(k, n):
    return 1.0 if k == n else invert(lambda p: 1 - binomial_cdf(k, n, p), 0.975, 0, 1)


def bias(a, b):
    """Mean relative difference and its 95 % interval from the long-run variance (10 blocks for 200 values and more)."""
    d = [(y - x) / x for x, y in zip(a, b)]
    n = len(d)
    variance = long_run_variance(d, 10)
    independent = min(max(n * statistics.variance(d) / variance, 2), n)
    half = t_quantile(0.975, independent - 1) * math.sqrt(variance / n)
    return statistics.fmean(d) - half, statistics.fmean(d) + half


def t_quantile(p, v):
    return invert(lambda x: t_cdf(x, v), p, 0, 50)


def runs_needed(sd, margin):
    """Smallest n a group for 80 % power of a one-sided 5 % test, by trying every n from the normal answer on."""
    z = statistics.NormalDist().inv_cdf
    n = max(3, math.floor(2 * (sd * (z(0.95) + z(0.8)) / margin) ** 2))  # t needs no fewer
    while True:
        v = 2 * n - 2
        if n >= 2 * (sd * (t_quantile(0.95, v) + t_quantile(0.8, v)) / margin) ** 2:
            return n
        n += 1


def noise(n):
    state, out = 12345, []
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out.append((state >> 11) / 9007199254740992)
    return out


def smooth(values, window):
    """Weights written out: every value counts (1 - w)^age."""
    w = 2 / (window + 1)
    n = len(values)
    return (1 - w) ** (n - 1) * values[0] + sum(w * (1 - w) ** (n - 1 - i) * values[i] for i in range(1, n))


def long_run_variance(values, blocks):
    size = len(values) // blocks
    parts = []
    for j in range(blocks):
        part = values[j * size:] if j == blocks - 1 else values[j * size:(j + 1) * size]
        slope, intercept = statistics.linear_regression(range(len(part)), part)
        parts.append([y - intercept - slope * x for x, y in enumerate(part)])
    squares = math.fsum(v * v for p in parts for v in p)
    factor = 1.0
    for lag in range(1, max(1, size // 4) + 1):
        products = math.fsum(a * b for p in parts for a, b in zip(p, p[lag:]))
        pairs = sum(len(p) - lag for p in parts)
        r = products / pairs / (squares / len(values)) + 2 / size
        if r <= 0.05:
            break
        factor += 2 * r
    return squares / (len(values) - 2 * blocks) * factor


def onset(differences, zone):
    """The start of the first stretch whose excess over the zone reaches 5 zones without falling to 0 in between."""
    for start in range(len(differences)):
        total = 0.0
        for d in differences[start:]:
            total += abs(d) - zone
            if total <= 0:
                break
            if total > 5 * zone:
                return start
    return None


def spikes(values):
    found, i = [], 50
    while i < len(values):
        before = values[i - 50:i]
        median = statistics.median(before)
        limit = median + 8 * 1.4826 * statistics.median(abs(v - median) for v in before)
        if values[i] > limit:
            back = next((j for j in range(i + 1, min(len(values), i + 21)) if values[j] <= limit), None)
            if back is not None:
                found.append(i)
                i = back
        i += 1
    return found


NOISE = noise(400)
MOVED = [v + 0.3 * NOISE[(i * 7) % 400] for i, v in enumerate(NOISE)]
SPIKY = [v + (6 if i in (100, 220, 221, 350) else 0) for i, v in enumerate(NOISE)]
A = [76.1, 76.0, 76.2, 75.9, 76.3]
B = [75.8, 76.1, 75.9, 76.0]
D, T, DF, SE = welch(A, B)
VALUES = {
    "t_cdf(1.5,3)": t_cdf(1.5, 3),
    "t_cdf(-2.25,7.5)": t_cdf(-2.25, 7.5),
    "t_quantile(0.975,2)": invert(lambda x: t_cdf(x, 2), 0.975, 0, 20),
    "t_quantile(0.95,4)": invert(lambda x: t_cdf(x, 4), 0.95, 0, 20),
    "chi2_cdf(3.2,1)": chi2_cdf(3.2, 1),
    "chi2_cdf(11,9)": chi2_cdf(11, 9),
    "chi2_quantile(0.05,2)": -2 * math.log(0.95),  # closed form for two degrees
    "chi2_quantile(0.05,9)": invert(lambda x: chi2_cdf(x, 9), 0.05, 0.1, 30),
    "welch_t": T,
    "welch_df": DF,
    "welch_p": 2 * t_cdf(-abs(T), DF),
    "tost_p(0.5)": max(t_cdf(-(D + 0.5) / SE, DF), t_cdf((D - 0.5) / SE, DF)),
    "fisher(1,100,61,1000)": fisher(1, 100, 61, 1000),
    "fisher(3,10,9,12)": fisher(3, 10, 9, 12),
    "correlation": statistics.correlation([1, 2, 4, 3], [2.0, 2.5, 5, 3]),
    "runs_needed(1,0.5)": runs_needed(1, 0.5),
    "runs_needed(1,1)": runs_needed(1, 1),
    "sd_upper(0.31,5)": 0.31 * math.sqrt(4 / invert(lambda x: chi2_cdf(x, 4), 0.05, 0.01, 30)),
    "prediction(0.31,3,1)": t_quantile(0.975, 2) * 0.31 * math.sqrt(1 + 1 / 3),
    "prediction(0.31,5,3)": t_quantile(0.975, 4) * 0.31 * math.sqrt(1 / 3 + 1 / 5),
    "rate_low(9,1000)": rate_low(9, 1000),
    "rate_high(9,1000)": rate_high(9, 1000),
    "rate_high(0,60)": rate_high(0, 60),
    "rate_low(60,60)": rate_low(60, 60),
    "bias_low": bias([1 + v for v in NOISE], [1 + v for v in MOVED])[0],
    "bias_high": bias([1 + v for v in NOISE], [1 + v for v in MOVED])[1],
    "noise_last": NOISE[-1],
    "smooth_last(10)": smooth(NOISE, 10),
    "long_run_variance(10)": long_run_variance(NOISE, 10),
    "median": statistics.median(NOISE),
    "sd": statistics.stdev(NOISE),
    "difference_correlation": statistics.correlation([b - a for a, b in zip(NOISE, NOISE[1:])],
                                                     [b - a for a, b in zip(MOVED, MOVED[1:])]),
    "onset": onset([(0.01 if i < 250 else 0.03) * v for i, v in enumerate(NOISE)], 0.01),
    "spikes": len(spikes(SPIKY)),
    "spikes_last": spikes(SPIKY)[-1],
}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        text = open(sys.argv[2], encoding="utf-8").read()
        table = dict(re.findall(r'\{"([^"]+)", ([-+.0-9e]+)\}', text.split("REFERENCE", 2)[1]))
        bad = [k for k, v in VALUES.items() if k not in table or abs(float(table[k]) - v) > 1e-8 * max(1, abs(v))]
        bad += [k for k in table if k not in VALUES]
        for key in bad:
            print(f"{key}: {table.get(key)} in the test, {VALUES.get(key)!r} here")
        return 1 if bad else 0
    for key, value in VALUES.items():
        print(f'      {{"{key}", {value:.12g}}},')
    return 0


if __name__ == "__main__":
    sys.exit(main())
