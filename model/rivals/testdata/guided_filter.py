"""Writes guided_filter.json: the attention-guided filter of AG-Net, values and gradients, in float64.

    /usr/bin/python3 guided_filter.py

a and b of a window come from the normal equations of its weighted least squares, and not from the closed form of
agnet.go. The gradients are those of the sum of the result times fixed numbers.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(7)
B, H, W, C, RADIUS, DAMP, LEAST = 2, 5, 4, 3, 2, 1e-2, 1e-2


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64).mul(1000).round().div(1000)


def guided(o, small, guide, t):
    q = t * t + LEAST
    a, b = torch.zeros_like(o), torch.zeros_like(o)
    for y in range(H):
        for x in range(W):
            ys, xs = slice(max(0, y - RADIUS), y + RADIUS + 1), slice(max(0, x - RADIUS), x + RADIUS + 1)
            weight, i, z = (v[:, ys, xs].flatten(1, 2) for v in (q, small, o))  # (B, pixels, C)
            n = weight.shape[1]
            normal = torch.stack([
                torch.stack([(weight * i * i).sum(1) / n + DAMP, (weight * i).sum(1) / n], -1),
                torch.stack([(weight * i).sum(1) / n, weight.sum(1) / n], -1),
            ], -2)
            right = torch.stack([(weight * i * z).sum(1) / n, (weight * z).sum(1) / n], -1)
            solved = torch.linalg.solve(normal, right)
            a, b = a.clone(), b.clone()
            a[:, y, x], b[:, y, x] = solved[..., 0], solved[..., 1]

    def spread(v):  # the mean over the windows of a pixel, enlarged
        v = v.permute(0, 3, 1, 2)
        v = F.avg_pool2d(v, 2 * RADIUS + 1, 1, RADIUS, count_include_pad=False)
        return F.interpolate(v, scale_factor=2, mode="bilinear", align_corners=False).permute(0, 2, 3, 1)

    return spread(a) * guide + spread(b)


inputs = {"o": draw(B, H, W, C), "small": draw(B, H, W, C), "guide": draw(B, 2 * H, 2 * W, C), "t": torch.rand(B, H, W, C, dtype=torch.float64)}
inputs["t"] = inputs["t"].mul(1000).round().div(1000)
for v in inputs.values():
    v.requires_grad_()
result = guided(**inputs)
factor = draw(*result.shape)
(result * factor).sum().backward()


def listed(v):
    return [float(f"{x:.9g}") for x in v.detach().flatten()]


golden = {"shape": [B, H, W, C], "factor": listed(factor), "result": listed(result)}
for name, v in inputs.items():
    golden[name], golden["d" + name] = listed(v), listed(v.grad)
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
print(path.name, path.stat().st_size, "bytes")
