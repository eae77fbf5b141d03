"""Times the PyTorch twin (model/testdata/twin) in PyTorch's own ways, for comparison with `bench` on the same GPU.

    python3 cmd/study/peers/pytorch.py --config compact --side 128,256 --batch 1,4,16,32 --json pytorch.json
    build/bench -config compact-steered -side 256 -batch 4 -train

The twin runs as PyTorch runs best: with weights in PyTorch's layouts, its scaled_dot_product_attention and its own optimiser, fused on CUDA.
The script times the encoder and four passes of --batch images, and a training step of recipe `steered` (two recurrences, three
reweightings). It prints the median of --runs after --warmup, in milliseconds, with the 10 % and 90 % quantiles. --modes says how:
    eager      one kernel after the other, as Python asks for them
    graphed    all kernels of a function, or of the whole step, recorded once as a CUDA graph and replayed
    compiled   torch.compile
    reduced    torch.compile(mode="reduce-overhead"): compiled kernels, replayed as CUDA graphs; without the step
--ways says in which numbers: f32, tf32 (f32 whose products are TF32), bf16 (by autocast). With -last, as in bf16-last, channels lie last
in memory. The script is for development, with any PyTorch from 2.0 on; 1.13 has eager and graphed only. On a CPU there are no graphs.

    python3 cmd/study/peers/pytorch.py --serve FOLDER

takes training steps on the CPU for `bench -peers build/peers -train`. bench has written the step into FOLDER: weights, images, labels and draws.
Each line of the input asks for one step, and the script answers it with a line of JSON.
"""
import argparse
import itertools
import json
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "model/testdata/twin"))
import network  # noqa: E402
import twin  # noqa: E402

PASSES, RECURRENCES, SHUFFLES = 4, 2, 3


def attend(q, k, v, heads):
    """network.attend by PyTorch's own kernel."""
    B, C, H, W = q.shape
    def split(t):
        return t.reshape(B, heads, C // heads, -1).transpose(2, 3)
    y = F.scaled_dot_product_attention(split(q), split(k), split(v))
    return y.transpose(2, 3).reshape(B, C, H, W)


class Native(network.Network):
    """The twin with weights in PyTorch's layouts, converted once."""

    def __init__(self, c, params, buffers):
        super().__init__(c, {k: self.native(k, v).contiguous() for k, v in params.items()}, buffers)

    @staticmethod
    def native(name, v):
        if not name.endswith(".weight") or name == "divp.heads.output.weight":
            return v
        if v.dim() == 4 and (name.endswith(".up.weight") or name == "conp.head.weight"):
            return v.permute(2, 3, 0, 1)
        if v.dim() == 4:
            return v.permute(3, 2, 0, 1)
        if v.dim() == 3:
            return v.permute(2, 0, 1)[:, None]
        return v.t()[:, :, None, None] if v.dim() == 2 else v

    def conv(self, name, x, stride=1, pad=0):
        return F.conv2d(x, self.p[name + ".weight"], self.p.get(name + ".bias"), stride, pad)

    def depthwise(self, name, x, pad):
        return F.conv2d(x, self.p[name + ".weight"], self.p[name + ".bias"], 2, pad, groups=x.shape[1])

    def transposed(self, name, x):
        return F.conv_transpose2d(x, self.p[name + ".weight"], self.p[name + ".bias"], 2)

    def linear(self, name, x):
        return F.conv2d(x, self.p[name + ".weight"], self.p.get(name + ".bias"))


def remembered(f):
    """Caches f, whose results depend on its numbers and on the last argument's type and device. A CUDA graph may not copy them again."""
    known = {}

    def g(*arguments):
        like = arguments[-1]
        key = *arguments[:-1], like.dtype, like.device
        if key not in known:
            known[key] = f(*arguments)
        return known[key]
    return g


def timed(f, device, warmup, runs):
    def wait():
        if device == "cuda":
            torch.cuda.synchronize()
    for _ in range(warmup):
        f()
    wait()
    took = []
    for _ in range(runs):
        start = time.perf_counter()
        f()
        wait()
        took.append(1e3 * (time.perf_counter() - start))
    took.sort()
    return {"ms": statistics.median(took), "low": took[len(took) // 10], "high": took[-1 - len(took) // 10], "runs": runs}


def cases(net, a, device, layout):
    """The timed functions by name, and the loss of a step. The draws of the step are made once, as data."""
    M, K, S, B = net.c.M, net.c.K, a.side, a.batch
    g = torch.Generator().manual_seed(1)
    x = torch.randn(B, 3, S, S, generator=g).to(device).contiguous(memory_format=layout)
    z = (torch.rand(B, M, K, S, S, generator=g) > .5).float().to(device)
    valid = torch.ones(B, M, K, device=device)
    w0 = twin.initial_confidence(g, B, M, K, S // 8).to(device)
    draws = [[(p.to(device), s, o.to(device)) for p, s, o in row] for row in twin.draw_shuffles(g, RECURRENCES, M, 2, SHUFFLES - 2)]
    settings = twin.Step(fade=.5, prior=torch.zeros(B, M, device=device))
    start = torch.full((B, M * K, S // 8, S // 8), math.log(.5), device=device)

    def encoder():
        net.training = False
        with torch.no_grad():
            return net.encode(x)["f0"]

    def passes():
        net.training = False
        with torch.no_grad():
            f, w = net.encode(x), start
            for _ in range(PASSES):
                half, y = net.conp(f, w)
                w = net.divp(half).clamp_min(twin.CLAMP).log().reshape(start.shape)
            return y

    def loss():
        net.training = True
        return twin.train_forward(net, x, z, valid, w0, draws, settings)[0]

    return {"encoder": encoder, "passes": passes}, loss


def graphed(f):
    """Records f as a CUDA graph, and returns the function that replays it on the same memory."""
    if not torch.cuda.is_available():
        raise RuntimeError("a CPU has no CUDA graphs")
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # a recording may not allocate or choose algorithms for the first time
        for _ in range(3):
            f()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=aside):  # where the gradients of the run before were added
        f()
    return graph.replay


def compiled(f, **options):
    if not hasattr(torch, "compile"):
        raise RuntimeError(f"PyTorch {torch.__version__} has no torch.compile")
    return torch.compile(f, **options)


def measure(a, device, mode, way):
    """The times of one mode and way at a.side and a.batch."""
    c = network.config(a.config, a.raters, a.classes)
    c.steered = True
    layout = torch.channels_last if way.endswith("-last") else torch.contiguous_format
    params, buffers = network.initialise(c, 1)
    net = Native(c, {k: v.to(device) for k, v in params.items()}, {k: v.to(device) for k, v in buffers.items()})
    net.p = {k: v.contiguous(memory_format=layout) if v.dim() == 4 else v for k, v in net.p.items()}
    forward, loss = cases(net, a, device, layout)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = way.startswith("tf32")
    inner = {"compiled": compiled, "reduced": lambda f: compiled(f, mode="reduce-overhead")}.get(mode, lambda f: f)
    outer = graphed if mode == "graphed" else lambda f: f
    out = {}

    def cast(f):
        def g():
            # a graph may not keep casts from one run to the next
            with torch.autocast(device, torch.bfloat16, enabled=way.startswith("bf16"), cache_enabled=mode == "eager"):
                return f()
        return g

    for name, f in forward.items():
        out[name] = timed(outer(cast(inner(f))), device, a.warmup, a.runs)
    if mode == "reduced":
        return out
    for v in net.p.values():
        v.requires_grad_()
    adam = torch.optim.Adam(net.p.values(), 1e-3, **({"fused": True, "capturable": mode == "graphed"} if device == "cuda" else {}))
    total = cast(inner(loss))

    def step():
        adam.zero_grad(set_to_none=True)
        total().backward()
        adam.step()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    out["step"] = timed(outer(step), device, a.warmup, a.runs)
    if device == "cuda":
        out["step"]["MiB"] = torch.cuda.max_memory_allocated() / 2**20
    return out


def agrees(a):
    """Checks that the converted network equals the twin, to within rounding."""
    c = network.config("tiny", a.raters, a.classes)
    params, buffers = network.initialise(c, 2, spread=.1)
    x = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(3))
    plain = network.attend
    with torch.no_grad():
        network.attend = PLAIN
        want = twin.infer(twin.Network(c, params, buffers), x, 2)[0][-1]
        network.attend = plain
        got = twin.infer(Native(c, params, buffers), x, 2)[0][-1]
    worst = (want - got).abs().max().item()
    if not worst < 1e-4:
        raise SystemExit(f"pytorch.py: the converted network differs from the twin by {worst}")


def serve(folder):
    """Repeats the step that cmd/bench/peer_step.go has written, and prints the loss before it and its time."""
    folder = pathlib.Path(folder)
    about = json.loads((folder / "step.json").read_text())
    torch.set_num_threads(about["threads"])
    torch.set_flush_denormal(True)  # our program does too; gradients have many denormal values
    values, at = torch.frombuffer(bytearray((folder / "step.f32").read_bytes()), dtype=torch.float32), 0
    stored = {}
    for t in about["tensors"]:
        n = math.prod(t["shape"])
        stored[t["name"]] = values[at:at + n].reshape(t["shape"])
        at += n
    c = network.config(about["config"], about["raters"], about["classes"])
    c.steered = "prior" in stored
    params, buffers = network.initialise(c, 1)
    net = Native(c, {k: stored["param." + k] for k in params}, buffers)
    net.training = True
    for v in net.p.values():
        v.requires_grad_()
    maps = [stored[name].permute(0, 3, 4, 1, 2).contiguous() for name in ("z", "w0")]
    x, valid = stored["x"].permute(0, 3, 1, 2).contiguous(), stored["valid"]
    draws = [[(torch.tensor(d["order"]), d["scale"][0], torch.tensor(d["offset"])) for d in row] for row in about["draws"]]
    settings = twin.Step(fade=about["fade"], prior=stored["prior"][:, 0, 0, :, 0] if c.steered else None)
    adam = torch.optim.Adam(net.p.values(), about["rate"])

    def say(answer):
        print(json.dumps(answer), flush=True)

    maps_of_self = pathlib.Path("/proc/self/maps")  # the speed of attention's products depends on the installed BLAS
    blas = {pathlib.Path(line.split()[-1]).resolve().name for line in maps_of_self.read_text().splitlines() if "blas" in line} if maps_of_self.exists() else set()
    say({"torch": torch.__version__, "threads": torch.get_num_threads(), "blas": ", ".join(sorted(blas))})
    first = True
    for _ in sys.stdin:
        start = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        loss = twin.train_forward(net, x, maps[0], valid, maps[1], draws, settings)[0]
        loss.backward()
        adam.step()
        value = loss.item()
        answer = {"ms": 1e3 * (time.perf_counter() - start), "loss": value}
        if first: # Adam does not change gradients; norms do not depend on layouts
            answer["norms"] = {k: v.grad.norm().item() for k, v in net.p.items() if v.grad is not None}
        first = False
        say(answer)


PLAIN = network.attend


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--config", default="compact", choices=["compact", "paper", "tiny"])
    p.add_argument("--side", default="256", help="image sides, pixels, multiples of 64, with commas between them")
    p.add_argument("--batch", default="4", help="numbers of images, with commas between them")
    p.add_argument("--raters", type=int, default=4)
    p.add_argument("--classes", type=int, default=2)
    p.add_argument("--runs", type=int, default=20)
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--modes", default="eager,graphed,compiled,reduced", help="of eager, graphed, compiled, reduced")
    p.add_argument("--ways", default="f32,tf32,bf16", help="of f32, tf32, bf16, and each of them with -last")
    p.add_argument("--json", help="file to write the figures to")
    p.add_argument("--serve", metavar="FOLDER", help="take the step of this folder whenever a line comes")
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() and not a.serve else "cpu"
    network.positions, twin.window, twin.ssim_window = remembered(network.positions), remembered(twin.window), remembered(twin.ssim_window)
    if hasattr(F, "scaled_dot_product_attention"):
        network.attend = attend
    if a.serve:
        return serve(a.serve)
    agrees(a)
    where = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    results = {"torch": torch.__version__, "device": where, "config": a.config, "cases": []}
    sides, batches = a.side, a.batch
    for a.side, a.batch in itertools.product(map(int, sides.split(",")), map(int, batches.split(","))):
        print(f"PyTorch {torch.__version__} on {where}: {a.config}, {a.side}², batch {a.batch}; ms, median [10 %, 90 %]")
        for mode, way in itertools.product(a.modes.split(","), a.ways.split(",")):
            if way.startswith("tf32") and device == "cpu":
                continue
            try:
                took = measure(a, device, mode, way)
                line = "   ".join(f"{k} {v['ms']:.2f} [{v['low']:.2f}, {v['high']:.2f}]" for k, v in took.items())
            except Exception as e:  # if one fails, the others still run
                took = {"error": f"{type(e).__name__}: {e}"}
                line = took["error"][:160]
            print(f"  {mode + ' ' + way:18} {line}", flush=True)
            results["cases"].append({"side": a.side, "batch": a.batch, "mode": mode, "way": way, **took})
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
