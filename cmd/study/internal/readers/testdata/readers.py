"""Analyses a reading study apart from package readers, with SciPy's distributions and by brute force.

python3 readers.py readings.csv truth.csv prints all figures as JSON.

Obuchowski and Rockette 1995; Hillis 2007 (degrees of freedom) and 2014 (variances); Shrout and Fleiss
1979 and McGraw and Wong 1996 (ICC); Bland and Altman 1986, 2007 (limits of agreement).
"""

import csv
import itertools
import json
import statistics
import sys

import numpy as np
from scipy import stats

readings = list(csv.DictReader(open(sys.argv[1], encoding="utf-8-sig")))
truths = list(csv.DictReader(open(sys.argv[2], encoding="utf-8-sig")))
modalities = [m for m in ("without", "with", "") if any(r["modality"] == m for r in readings)]
group = {r["case"]: r["group"] or r["case"] for r in readings}


def number(text):
    return float(text.split()[0]) if text else None


def column(name, again):
    """Numbers by modality, reader and case."""
    return {
        (r["modality"], r["reader"], r["case"]): number(r[name])
        for r in readings
        if r["repeat"] == again and number(r[name]) is not None
    }


def area(x, y):
    """The area under the curve by ranks."""
    ones = int((y == 1).sum())
    ranks = stats.rankdata(x)[y == 1]
    return (ranks.sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))


def around(mean, error, degrees, low, high):
    t = stats.norm if degrees is None else stats.t(degrees)
    half = t.ppf(0.975) * error
    return max(low, mean - half), min(high, mean + half)


def tests(theta, jack, low, high):
    """The views of one row of theta (I = 1), or of the difference of two. jack: (I, J, patients)."""
    i, j = theta.shape
    n = jack.shape[2]
    flat = jack.reshape(i * j, n)
    centred = flat - flat.mean(axis=1, keepdims=True)
    cov = (n - 1) / n * centred @ centred.T
    picked = {"Var": [], "Cov1": [], "Cov2": [], "Cov3": []}
    for a, b in itertools.product(itertools.product(range(i), range(j)), repeat=2):
        kind = {(True, True): "Var", (False, True): "Cov1", (True, False): "Cov2", (False, False): "Cov3"}
        picked[kind[a[0] == b[0], a[1] == b[1]]].append(cov[a[0] * j + a[1], b[0] * j + b[1]])
    c = {k: float(np.mean(v)) if v else 0.0 for k, v in picked.items()}
    grand, of_t, of_r = theta.mean(), theta.mean(axis=1), theta.mean(axis=0)
    ms_r = i * ((of_r - grand) ** 2).sum() / (j - 1) if j > 1 else 0
    out = []
    if i == 1:
        c["Reader"], c["ReaderModality"] = (ms_r - c["Var"] + c["Cov2"] if j > 1 else 0), 0
        shared = max(c["Cov2"], 0)
        fixed = (c["Var"] + (j - 1) * shared) / j
        out.append(("fixed readers", grand, fixed, None, None, None))
        if j > 1:
            whole = ms_r + j * shared
            out.append(("random readers and cases", grand, whole / j, whole**2 / (ms_r**2 / (j - 1)), None, None))
            out.append(("fixed cases", grand, ms_r / j, j - 1, None, None))
    else:
        difference = of_t[1] - of_t[0]
        ms_t = j * ((of_t - grand) ** 2).sum() / (i - 1)
        shared = max(c["Cov2"] - c["Cov3"], 0)
        below = c["Var"] - c["Cov1"] + (j - 1) * shared
        chi = (i - 1) * ms_t / below
        out.append(("fixed readers", difference, 2 / j * below, None, chi, stats.chi2.sf(chi, 1)))
        c["Reader"] = c["ReaderModality"] = 0
        if j > 1:
            rest = theta - of_t[:, None] - of_r[None, :] + grand
            ms_tr = (rest**2).sum() / ((i - 1) * (j - 1))
            c["Reader"] = (ms_r - ms_tr) / i - c["Cov1"] + c["Cov3"]
            c["ReaderModality"] = ms_tr - c["Var"] + c["Cov1"] + shared
            whole = ms_tr + j * shared
            degrees = whole**2 / (ms_tr**2 / ((i - 1) * (j - 1)))
            for view, bottom, df in (("random readers and cases", whole, degrees), ("fixed cases", ms_tr, j - 1)):
                out.append((view, difference, 2 / j * bottom, df, ms_t / bottom, stats.f.sf(ms_t / bottom, i - 1, df)))
        low = -high
    rows = {}
    for view, mean, variance, degrees, f, p in out:
        error = variance**0.5
        rows[view] = [mean, *around(mean, error, degrees, low, high), error, degrees, f, p]
    return rows, c


def analyse(name, truth):
    values = column(name, "0")
    if truth is not None:
        values = {k: v for k, v in values.items() if k[2] in truth}
    readers = [r for r in sorted({k[1] for k in values}) if all(any(k[0] == m and k[1] == r for k in values) for m in modalities)]
    cases = [c for c in sorted({k[2] for k in values}) if all((m, r, c) in values for m in modalities for r in readers)]
    auc = truth is not None and set(truth.values()) <= {0, 1}
    y = np.array([truth[c] if truth else 0 for c in cases])
    patients = sorted({group[c] for c in cases})
    of = np.array([group[c] for c in cases])

    def figure(x, keep):
        if auc:
            return area(x[keep], y[keep])
        return np.abs(x - y)[keep].mean()

    theta, jack = np.zeros((len(modalities), len(readers))), np.zeros((len(modalities), len(readers), len(patients)))
    for (a, m), (b, r) in itertools.product(enumerate(modalities), enumerate(readers)):
        x = np.array([values[m, r, c] for c in cases])
        theta[a, b] = figure(x, of == of)
        jack[a, b] = [figure(x, of != p) for p in patients]
    high = 1 if auc else float("inf")
    estimates = {}
    for reader, pick in [(r, slice(b, b + 1)) for b, r in enumerate(readers)] + [("", slice(None))]:
        parts = [(m, slice(a, a + 1)) for a, m in enumerate(modalities)]
        if len(modalities) == 2:
            parts.append(("with − without", slice(None)))
        for part, rows in parts:
            for view, row in tests(theta[rows, pick], jack[rows, pick], 0, high)[0].items():
                estimates[f"{reader}|{view}|{part}"] = row
    _, c = tests(theta, jack, 0, high)
    return {"images": len(cases), "of": len({k[2] for k in values}), "patients": len(patients), "estimates": estimates, "components": c}


def icc(rows, units):
    x = np.array(rows)
    n, k = x.shape
    msr = k * ((x.mean(axis=1) - x.mean()) ** 2).sum() / (n - 1)
    msc = n * ((x.mean(axis=0) - x.mean()) ** 2).sum() / (k - 1)
    mse = ((x - x.mean(axis=1)[:, None] - x.mean(axis=0) + x.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    value = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    v = (a * msc + b * mse) ** 2 / ((a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((units - 1) * (k - 1)))
    up, down = stats.f.ppf(0.975, units - 1, v), stats.f.ppf(0.975, v, units - 1)
    spread = k * msc + (k * n - k - n) * mse
    return [value, n * (msr - up * mse) / (up * spread + n * msr), n * (down * msr - mse) / (spread + n * down * msr)]


def limits(differences):
    """By patient: the bias with its interval, and the limits."""
    means = [np.mean(d) for d in differences]
    n, all_ = len(differences), sum(map(len, differences))
    half = stats.t.ppf(0.975, n - 1) * np.std(means, ddof=1) / n**0.5
    grand = np.mean(np.concatenate(differences))
    between = sum(len(d) * (m - grand) ** 2 for d, m in zip(differences, means)) / (n - 1)
    within = sum(((np.array(d) - m) ** 2).sum() for d, m in zip(differences, means)) / (all_ - n) if all_ > n else 0
    size = (all_**2 - sum(len(d) ** 2 for d in differences)) / ((n - 1) * all_)
    spread = 1.96 * (within + max(0, (between - within) / size)) ** 0.5
    bias = np.mean(means)
    return [bias, bias - half, bias + half, bias - spread, bias + spread]


def agreement(name):
    first, second = column(name, "0"), column(name, "1")
    readers = sorted({r["reader"] for r in readings})
    out = {}

    def add(key, columns, pairs):
        cases = [c for c in sorted(group) if all(c in x for x in columns)]
        patients = sorted({group[c] for c in cases})
        if len(cases) < 2 or len(patients) < 2:
            return
        rows = [[x[c] for x in columns] for c in cases]
        out[key] = {"images": len(cases), "icc": icc(rows, len(patients))}
        if pairs:
            out[key]["limits"] = limits([[columns[1][c] - columns[0][c] for c in cases if group[c] == p] for p in patients])

    def of(values, m, r):
        return {k[2]: v for k, v in values.items() if k[0] == m and k[1] == r}

    for m in modalities:
        add(f"readers|{m}", [of(first, m, r) for r in readers if of(first, m, r)], False)
    for r in readers:
        if len(modalities) == 2:
            add(f"modalities|{r}", [of(first, m, r) for m in modalities], True)
        for m in modalities:
            add(f"readings|{r}, {m}" if m else f"readings|{r}", [of(first, m, r), of(second, m, r)], True)
    return out


def times():
    first = column("seconds", "0")
    some = {m: [v for k, v in first.items() if k[0] == m] for m in modalities}
    return {m: [len(v), statistics.mean(v), statistics.median(v)] for m, v in some.items()}


figures = {"seconds": analyse("seconds", None)}
for name in truths[0]:
    if name != "case":
        figures[name] = analyse(name, {t["case"]: float(t[name]) for t in truths if t[name]})
print(json.dumps({"figures": figures, "agreement": {n: agreement(n) for n in figures if n != "seconds"}, "times": times()}))
