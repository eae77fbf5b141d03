"""Writes what the parts of rivals' methods compute, with all gradients, that the Go tests compare with.

    /usr/bin/python3 methods.py          # from any directory; writes model/testdata/methods.json

Inputs and parameters are waves: element i of NAME is sin(1.7 i + the sum of NAME's bytes) / 2, as float32, and 1 more in NAMEs that end
in "deviation". The loss whose gradients are stored is the sum of all outputs, each times a wave of its own. Shapes are those of
package model.
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
torch.set_num_threads(1)


def wave(name, *shape):
    values = np.sin(1.7 * np.arange(math.prod(shape)) + sum(name.encode())) / 2 + name.endswith("deviation")
    return torch.tensor(values.astype(np.float32).astype(np.float64).reshape(shape))


class Case:
    """Variables of a part by name, and what it computes."""

    def __init__(self):
        self.leaves = {}

    def __call__(self, name, *shape):
        if name not in self.leaves:
            self.leaves[name] = wave(name, *shape).requires_grad_()
        return self.leaves[name]

    def linear(self, name, x, out, bias=True):
        y = x @ self(name + ".weight", x.shape[-1], out)
        return y + self(name + ".bias", out) if bias else y

    def golden(self, outputs):
        sum((wave("seed of " + name, *y.shape) * y).sum() for name, y in outputs.items()).backward()
        rounded = lambda x: [float(f"{v:.6g}") for v in x.detach().flatten().tolist()]
        return {
            "outputs": {name: rounded(y) for name, y in outputs.items()},
            "gradients": {name: rounded(x.grad) for name, x in self.leaves.items() if x.grad is not None},
        }


def pionono(M=3, K=2, B=2, d=8, prior=2.0, kappa=5e-4):
    """Latents, head and KL, by torch.distributions."""
    v = Case()
    f, draws = v("f", B, 3, 4, 16), v("draws", B, M, d)
    mean, deviation = v("pionono.mean", M, d), v("pionono.deviation", M, d, d)
    lower = torch.tril(deviation.transpose(1, 2))
    z = mean + torch.einsum("mij,bmj->bmi", lower, draws)
    both = torch.cat([f[:, :, :, None].expand(-1, -1, -1, M, -1), z[:, None, None].expand(-1, 3, 4, -1, -1)], -1)
    weight = torch.cat([v("pionono.head.0.features.weight", 16, 16), v("pionono.head.0.latent.weight", d, 16)])
    x = F.relu(both @ weight + v("pionono.head.0.features.bias", 16))
    x = F.relu(v.linear("pionono.head.1", x, 16))
    rated = torch.sigmoid(v.linear("pionono.head.2", x, K))
    normal = torch.distributions.MultivariateNormal
    q = normal(mean, scale_tril=lower)
    kl = torch.distributions.kl_divergence(q, normal(torch.zeros(d, dtype=mean.dtype), scale_tril=prior * torch.eye(d, dtype=mean.dtype)))
    return v.golden({"rated": rated, "kl": kappa * kl.mean().reshape(1)})


def padl(M=3, K=2, B=2, C=6):
    """Meta mask, preferences and errors, one rater after another as in the authors' code. Each parameter holds all raters' values."""
    v = Case()
    x = v("x", B, 3, 4, C)
    meta = x @ v("padl.meta.weight", 1, 1, C, K)[0, 0] + v("padl.meta.bias", K)
    p = torch.sigmoid(meta).detach()
    doubt = -(p * torch.log2(p) + (1 - p) * torch.log2(1 - p))

    def head(name, people, m, logits):
        own = slice(m * K, (m + 1) * K)
        reduced = x @ v(f"padl.{name}.reduction.weight", 1, 1, C, people * K)[0, 0, :, own]
        mean, variance = reduced.mean((0, 1, 2)), reduced.var((0, 1, 2), unbiased=False)
        scale, shift = v(f"padl.{name}.bn.weight", people * K)[own], v(f"padl.{name}.bn.bias", people * K)[own]
        reduced = F.relu((reduced - mean) / torch.sqrt(variance + 1e-5) * scale + shift)
        both = torch.cat([(1 + doubt) * reduced, logits], -1)
        return both @ v(f"padl.{name}.output.weight", people, 2 * K, K)[m] + v(f"padl.{name}.output.bias", people, K)[m]

    own = [meta + head("preference", M, m, meta) for m in range(M)]
    errors = [head("errors", M, m, own[m]).abs() for m in range(M)]
    return v.golden({"meta": meta, "metaError": head("error", 1, 0, meta).abs(), "own": torch.cat(own, -1), "ownError": torch.cat(errors, -1)})


if __name__ == "__main__":
    goldens = {part.__name__: part() for part in (pionono, padl)}
    (HERE.parent / "methods.json").write_text(json.dumps(goldens, separators=(",", ":")) + "\n")
