"""Writes the goldens that the Go tests compare with. Deterministic; computed in float64, stored as float32.

    /usr/bin/python3 goldens.py          # from any directory

  shaders/testdata/operators.safetensors   single operators: inputs, outputs, gradients
  model/testdata/tiny.safetensors          the whole `tiny` network: parameters, one step of two recurrences,
                                           every gradient, a 20-step Adam loss curve
The tensor names are listed in README.md.
"""
import dataclasses
import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

import network
import twin

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
torch.set_num_threads(1)
D = torch.float64


def save(path, tensors, meta):
    """safetensors by hand: 8-byte header length, JSON header padded with spaces to 8, then the bytes in order."""
    header, blobs, at = {"__metadata__": meta}, [], 0
    for name, t in tensors.items():
        a = t.detach().cpu().numpy() if torch.is_tensor(t) else np.asarray(t)
        kind = {"f": ("F32", np.float32), "i": ("I32", np.int32), "b": ("I8", np.int8)}[a.dtype.kind]
        blob = np.ascontiguousarray(a.astype(kind[1])).tobytes()
        header[name] = {"dtype": kind[0], "shape": list(a.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(blobs))
    print(path.relative_to(ROOT), path.stat().st_size, "bytes", len(tensors), "tensors")


def f32(t):
    """Rounds to float32 and returns float64, so that the stored inputs are exactly those computed with."""
    return t.float().to(D)


def nhwc(t):
    return t.permute(0, 2, 3, 1)


def nchw(t):
    return t.permute(0, 3, 1, 2)


# ---------------------------------------------------------------- operators

def operators():
    g = torch.Generator().manual_seed(11)
    out = {}

    def randn(*s):
        return f32(torch.randn(*s, generator=g))

    def rand(*s):
        return f32(torch.rand(*s, generator=g))

    def case(name, fn, constants=None, **inputs):
        """fn(inputs) -> y. Stores every input, y, dy and d<input>."""
        leaves = {k: v.clone().requires_grad_() for k, v in inputs.items()}
        y = fn(**leaves)
        dy = randn(*y.shape)
        y.backward(dy)
        for k, v in inputs.items():
            out[f"{name}/{k}"] = v
        for k, v in (constants or {}).items():
            out[f"{name}/{k}"] = v
        out[f"{name}/y"], out[f"{name}/dy"] = y, dy
        for k, v in leaves.items():
            out[f"{name}/d{k}"] = v.grad

    def conv(name, k, stride, pad, cin, cout, h, w, bias):
        def fn(x, weight, bias=None):
            return nhwc(F.conv2d(nchw(x), weight.permute(3, 2, 0, 1), bias, stride, pad))
        args = dict(x=randn(2 if k < 7 else 1, h, w, cin), weight=randn(k, k, cin, cout))
        if bias:
            args["bias"] = randn(cout)
        case(name, fn, **args)
    conv("conv2d.k3s1p1", 3, 1, 1, 5, 6, 7, 9, False)
    conv("conv2d.k3s2p1", 3, 2, 1, 4, 7, 9, 6, False)
    conv("conv2d.k7s2p3", 7, 2, 3, 3, 8, 12, 11, False)
    conv("conv2d.k8s2p3", 8, 2, 3, 2, 5, 12, 14, True)
    conv("conv2d.k1s1p0", 1, 1, 0, 9, 5, 5, 7, True)
    conv("conv2d.k1s2p0", 1, 2, 0, 6, 8, 7, 8, False)

    def depthwise(name, k):
        def fn(x, weight, bias):
            return nhwc(F.conv2d(nchw(x), weight.permute(2, 0, 1)[:, None], bias, 2, k // 2, groups=x.shape[3]))
        case(name, fn, x=randn(2, 8, 7, 6), weight=randn(k, k, 6), bias=randn(6))
    depthwise("depthwise.k5s2p2", 5)
    depthwise("depthwise.k3s2p1", 3)

    case("transposed.k2s2", lambda x, weight, bias: nhwc(F.conv_transpose2d(nchw(x), weight.permute(2, 3, 0, 1), bias, 2)),
         x=randn(2, 3, 4, 5), weight=randn(2, 2, 5, 6), bias=randn(6))
    case("maxpool.k3s2p1", lambda x: nhwc(F.max_pool2d(nchw(x), 3, 2, 1)), x=randn(2, 7, 8, 5))
    case("avgpool.r2", lambda x: nhwc(F.avg_pool2d(nchw(x), 2)), x=randn(2, 6, 4, 5))
    case("avgpool.r4", lambda x: nhwc(F.avg_pool2d(nchw(x), 4)), x=randn(1, 8, 12, 3))
    case("bilinear.x2", lambda x: nhwc(twin.up2(nchw(x))), x=randn(2, 3, 5, 4))
    case("bilinear.x8", lambda x: nhwc(twin.up2(nchw(x), 8)), x=randn(1, 3, 2, 3))

    mean, var = randn(5), rand(5) + 0.5
    running = mean.clone(), var.clone()
    case("batchnorm.train", lambda x, weight, bias: nhwc(F.batch_norm(nchw(x), running[0], running[1], weight, bias, True, 0.1, 1e-5)),
         dict(running_mean=mean, running_var=var), x=randn(3, 4, 5, 5) * 2 + 1, weight=randn(5), bias=randn(5))
    out["batchnorm.train/new_running_mean"], out["batchnorm.train/new_running_var"] = running
    case("batchnorm.inference", lambda x, weight, bias: nhwc(F.batch_norm(nchw(x), mean, var, weight, bias, False, 0.1, 1e-5)),
         dict(running_mean=mean, running_var=var), x=randn(2, 3, 4, 5), weight=randn(5), bias=randn(5))
    case("layernorm", lambda x, weight, bias: F.layer_norm(x, (12,), weight, bias, 1e-5),
         x=randn(2, 3, 4, 12), weight=randn(12), bias=randn(12))
    case("linear", lambda x, weight, bias: x @ weight + bias, x=randn(2, 7, 6), weight=randn(6, 9), bias=randn(9))

    def attention(q, k, v):  # tokens (B, N, C), 2 heads; head h holds channels h*C/2 ..
        t = lambda a: a.transpose(1, 2)[..., None]
        return network.attend(t(q), t(k), t(v), 2)[..., 0].transpose(1, 2)
    case("attention.h2", attention, q=randn(2, 11, 8), k=randn(2, 7, 8), v=randn(2, 7, 8))
    case("gelu", lambda x: F.gelu(x), x=randn(2, 17) * 2)
    case("relu", lambda x: F.relu(x), x=randn(2, 17))
    case("sigmoid", lambda x: torch.sigmoid(x), x=randn(2, 17) * 3)

    case("ssim", lambda a, b: nhwc(twin.ssim(nchw(a), nchw(b))), a=rand(2, 14, 13, 2), b=rand(2, 14, 13, 2))
    case("bce.lo001", lambda p: twin.cross_entropy(p, out["bce.lo001/t"], 1e-3),
         **bce_input(out, "bce.lo001", rand))
    case("bce.lo01", lambda p: twin.cross_entropy(p, out["bce.lo01/t"], 1e-2), **bce_input(out, "bce.lo01", rand))

    # Fusion, rater axis M = 4, K = 2; item 1 lacks rater 2 in structure 0, and all of structure 1.
    valid = torch.ones(2, 4, 2, dtype=D)
    valid[1, 2, 0] = 0
    valid[1, :, 1] = 0
    to = lambda t: t.permute(0, 3, 4, 1, 2)
    def fusion(ell, z):
        return nhwc(twin.fuse(to(ell), to(z), valid))
    case("fuse", fusion, dict(valid=valid), ell=randn(2, 6, 5, 4, 2), z=rand(2, 6, 5, 4, 2))

    S = 64  # the window: sigma 4*64/256 = 1 px, radius 3
    z = blobs(g, 2, 4, 2, S)[..., 8:24, 10:28]
    labels = z.permute(0, 3, 4, 1, 2).contiguous()
    for rule in ("likelihood", "code", "agreement"):
        y = rand(2, 16, 18, 2)
        out[f"rule.{rule}/z"], out[f"rule.{rule}/valid"] = labels.to(torch.int8).numpy().astype(bool), valid
        if rule == "agreement":
            out[f"rule.{rule}/mask"] = y
        window = twin.window
        twin.window = lambda _, like: window(S, like)
        case(f"rule.{rule}", lambda zup: twin.log_weights(rule, to(zup), z, valid, nchw(y)).permute(0, 3, 4, 1, 2),
             zup=f32(rand(2, 16, 18, 4, 2) * 0.98 + 0.01))
        twin.window = window

    p = randn(7, 3)
    params = {"p": p.clone().requires_grad_()}
    adam = twin.Adam(params, decay=0.0)
    out["adam/p0"], grads, steps = p, randn(6, 7, 3), []
    for i in range(6):
        params["p"].grad = grads[i].clone()
        adam.step(1e-2 * (i + 1) / 6)
        steps.append(params["p"].detach().clone())
    out["adam/grad"], out["adam/lr"], out["adam/p"] = grads, torch.tensor([1e-2 * (i + 1) / 6 for i in range(6)]), torch.stack(steps)
    out["adam/m"], out["adam/v"] = adam.m["p"], adam.v["p"]
    save(ROOT / "shaders/testdata/operators.safetensors", out, {"layout": "HWIO", "note": "float64, stored as float32"})


def bce_input(out, name, rand):
    p = rand(3, 40) * 1.1 - 0.05  # some outside the clamp
    out[name + "/t"] = rand(3, 40).round()
    out[name + "/t"][2] = rand(40)
    return dict(p=f32(p.clamp(0, 1)))


# ---------------------------------------------------------------- the whole network

def blobs(g, B, M, K, S):
    """Labels (B, M, K, S, S): nested discs, each rater with its own size and wobble."""
    t = (torch.arange(S, dtype=D) + 0.5) / S - 0.5
    yy, xx = t[:, None], t[None, :]
    z = torch.zeros(B, M, K, S, S, dtype=D)
    for b in range(B):
        cy, cx = (torch.rand(2, generator=g) * 0.2 - 0.1).tolist()
        r0 = 0.25 + 0.1 * torch.rand((), generator=g).item()
        for m in range(M):
            grow, phase = (torch.rand(2, generator=g)).tolist()
            for k in range(K):
                angle = torch.atan2(yy - cy, xx - cx)
                r = r0 * (1 if k == 0 else 0.55) * (0.85 + 0.3 * grow + 0.05 * torch.sin(3 * angle + 6 * phase))
                z[b, m, k] = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).to(D)
    return z


def sample(out, name, t, limit=8000):
    """Large tensors: 256 entries at flat indices (row-major, in the stored layout), the sum and the 2-norm."""
    if t.numel() <= limit:
        out[name] = t.contiguous()
        return
    idx = torch.linspace(0, t.numel() - 1, 256).long()
    out[name + ".index"], out[name + ".sample"] = idx, t.reshape(-1)[idx]
    out[name + ".sum"], out[name + ".norm"] = t.sum().reshape(1), t.norm().reshape(1)


def raters_last(t):
    return t.permute(0, 3, 4, 1, 2)


def tiny():
    B, M, K, S, TAU = 3, 3, 2, 64, 2
    c = twin.config("tiny", M, K)
    g = torch.Generator().manual_seed(5)
    params, buffers = twin.initialise(c, 1, spread=0.1)
    start = {k: f32(v) for k, v in params.items()}
    z = blobs(g, B, M, K, S)
    valid = torch.ones(B, M, K, dtype=D)
    valid[1, 2, :] = 0      # item 1 lacks rater 2
    z[1, 2] = 0
    mean = z.mean(1)
    x = torch.rand(B, 3, S, S, generator=g).to(D) * 0.3 + 0.3 + 0.25 * mean.sum(1, keepdim=True) * torch.tensor([1.0, 0.6, 0.4], dtype=D)[None, :, None, None]
    x = f32((x - 0.5) / 0.25)
    w0 = f32(twin.initial_confidence(g, B, M, K, S // 8))
    shuffles = twin.draw_shuffles(g, TAU, M)
    shuffles = [[(p, s, f32(o)) for p, s, o in row] for row in shuffles]

    out = {"input.x": nhwc(x), "input.z": raters_last(z).numpy().astype(bool), "input.valid": valid.float(),
           "input.w0": raters_last(w0),
           "shuffle.permutation": torch.stack([torch.stack([p for p, _, _ in r]) for r in shuffles]),
           "shuffle.scale": torch.tensor([[s for _, s, _ in r] for r in shuffles]),
           "shuffle.offset": torch.stack([torch.stack([o for _, _, o in r]) for r in shuffles])}

    def network():
        p = {k: v.clone().requires_grad_() for k, v in start.items()}
        b = {k: v.to(D).clone() for k, v in buffers.items()}
        return twin.Network(c, p, b)

    # inference before any training, from the initial running statistics
    net = network()
    with torch.no_grad():
        ys, zs = twin.infer(net, x, 3)
    for i in range(3):
        sample(out, f"inference.rec{i}.y", nhwc(ys[i]))
        sample(out, f"inference.rec{i}.zHat", raters_last(zs[i]))

    # one training step, two recurrences
    prior = f32(torch.tensor([[1, 1, 1], [1e-3, 1, 1e-3], [0.5, 0.02, 1]], dtype=D).log())
    out["steered.prior"] = prior
    settings = {"likelihood": twin.Step(fade=0.5), "agreement": twin.Step("agreement"), "code": twin.Step("code"),
                "levels": twin.Step(levels=True), "steered": twin.Step(prior=prior)}
    meta = {"layout": "HWIO", "config": "tiny", "raters": str(M), "classes": str(K), "side": str(S), "batch": str(B),
            "recurrences": str(TAU), "note": "float64, stored as float32"}
    for name, s in settings.items():
        net = network()
        net.c = dataclasses.replace(c, steered=s.prior is not None)
        loss, o = twin.train_forward(net, x, z, valid, w0, shuffles, s)
        loss.backward()
        if name != "likelihood":
            out[f"{name}.loss"] = loss.reshape(1)
            for term in ("rec_y", "rec_fuse", "shuffle", "heads"):
                out[f"{name}.{term}"] = torch.stack(o[term])
            # gradients of the other modes: norm by parameter, in the order of the param.* tensors
            out[f"{name}.grad_norm"] = torch.stack([v.grad.norm() for v in net.p.values()])
            continue
        out["loss"] = loss.reshape(1)
        for term in ("rec_y", "rec_fuse", "shuffle", "heads", "fade"):
            out[f"loss.{term}"] = torch.stack(o[term])
        for k, v in o["f"].items():
            sample(out, f"feature.{k}", nhwc(v))
        for i in range(TAU):
            for k, v in o["features"][i].items():
                sample(out, f"rec{i}.{k}", nhwc(v))
            sample(out, f"rec{i}.yHalf", nhwc(o["half"][i]))
            sample(out, f"rec{i}.y", nhwc(o["y"][i]))
            sample(out, f"rec{i}.zHat", raters_last(o["zHat"][i]))
            sample(out, f"rec{i}.ell", raters_last(o["ell"][i]))
        for i, y in enumerate(o["yFuse"]):
            sample(out, f"yFuse{i}", nhwc(y))
        for k, v in net.p.items():
            out["param." + k] = start[k]
        for k, v in net.b.items():
            out["buffer." + k] = v  # running statistics after the step (before: mean 0, variance 1)
        for k, v in net.p.items():
            out["grad." + k] = v.grad

    # 20 Adam steps on the fixed batch with the same draws
    net = network()
    adam, curve = twin.Adam(net.p), []
    for _ in range(20):
        loss, _ = twin.train_forward(net, x, z, valid, w0, shuffles, settings["likelihood"])
        loss.backward()
        adam.step(1e-3)
        curve.append(loss.detach())
    out["curve.loss"] = torch.stack(curve)
    check = network()
    for v in list(check.p):
        check.p[v] = check.p[v].detach().float().requires_grad_()
    check.b = {k: v.float() for k, v in check.b.items()}
    adam, drift = twin.Adam(check.p), []
    for i in range(20):
        low = [[(p, s, o.float()) for p, s, o in r] for r in shuffles]
        loss, _ = twin.train_forward(check, x.float(), z.float(), valid.float(), w0.float(), low, settings["likelihood"])
        loss.backward()
        if i == 0:
            worst = max((((v.grad.to(D) - out["grad." + k]).norm() / out["grad." + k].norm().clamp_min(1e-12)).item(), k)
                        for k, v in check.p.items())
            print("float32 twin: worst relative gradient error", worst)
        adam.step(1e-3)
        drift.append(abs(loss.item() - curve[i].item()) / curve[i].item())
    print("loss", curve[0].item(), "->", curve[-1].item(), "float32 twin: worst relative drift", max(drift))
    save(ROOT / "model/testdata/tiny.safetensors", out, meta)


if __name__ == "__main__":
    operators()
    tiny()
