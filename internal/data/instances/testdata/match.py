"""Reads pairs of label images, and writes the scores of Compare: matched, precision, recall, F1, SQ, PQ, Dice; -1: NaN."""

import json
import sys

import numpy
from scipy.optimize import linear_sum_assignment

scores = []
for case in json.load(sys.stdin):
    a, b = numpy.array(case["A"]), numpy.array(case["B"])
    one = [a == n for n in numpy.unique(a) if n]
    other = [b == n for n in numpy.unique(b) if n]
    iou = numpy.array([[(x & y).sum() / (x | y).sum() for y in other] for x in one])
    iou[iou < case["Least"]] = 0
    taken = [iou[i, j] for i, j in zip(*linear_sum_assignment(iou, maximize=True)) if iou[i, j] > 0]
    tp, fp, fn = len(taken), len(other) - len(taken), len(one) - len(taken)
    sq = sum(taken) / tp if tp else -1
    rq = tp / (tp + fp / 2 + fn / 2)
    dice = sum(2 * v / (1 + v) for v in taken) / tp if tp else -1
    scores.append([tp, tp / (tp + fp), tp / (tp + fn), rq, sq, sq * rq if tp else 0, dice])
json.dump(scores, sys.stdout)
