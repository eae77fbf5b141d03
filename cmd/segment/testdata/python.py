"""python.py WEIGHTS FILES IMAGE...: compares package mrprism with the files that segment wrote, and misuses it."""

import gc
import json
import os
import pathlib
import signal
import sys
import threading

import numpy as np

import mrprism

weights, files, *images = sys.argv[1:]


def raises(kind, part, call, *args, **options):
    try:
        call(*args, **options)
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}: {part}")


def gone(process):
    return process.wait(10) is not None


def same(result, stem):
    read = lambda *words: np.load(pathlib.Path(files, "_".join((stem, *words)) + ".npy"))
    for name, p in result.probabilities.items():
        assert np.array_equal(p, read(name)) and np.array_equal(result.masks[name], p > 0.5)
        for m, rater in enumerate(model.raters):
            assert np.array_equal(result.raters[name][m], read(name, rater))


model = mrprism.open(weights, device="reference")
arrays = []
for path in images:
    result = model.segment(path)
    same(result, pathlib.Path(path).stem)
    arrays.append(result.image)
    assert result._repr_png_().startswith(b"\x89PNG")
    assert "doubts" in result.data and repr(result).startswith("<mrprism.Result 48x40: disc ")
grey = np.linspace(0, 60000, 40 * 48).reshape(40, 48).astype(np.uint16)  # the second image
assert np.array_equal(model.segment(grey).image, arrays[1])
plain = model.segment(pathlib.Path(images[0]).read_bytes(), raters=False, region=(4, 4, 32))
assert plain.raters == {} and plain.data["region"]["side"] == 32 and not plain.probabilities["disc"][:4].any()

# Threads take turns, and each has its own result.
failed = []
def work(i):
    try:
        same(model.segment(arrays[i % 2] if i % 3 else images[i % 2]), pathlib.Path(images[i % 2]).stem)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
assert not failed, failed

# What is wrong is said, and the model goes on, in the same process.
process = model._process
raises(mrprism.Error, "not an image", model.segment, b"text, and no picture")
raises(FileNotFoundError, "nowhere.png", model.segment, "nowhere.png")
raises(mrprism.Error, "give (H, W)", model.segment, np.zeros((4, 4)))
raises(mrprism.Error, "region", model.segment, arrays[0], region="middle")
raises(mrprism.Error, "recurrences", model.segment, arrays[0], recurrences=99)
raises(mrprism.Error, "nobody: there is no such file", mrprism.open, "nobody")
raises(mrprism.Error, "-device abacus: choose one of", mrprism.open, weights, device="abacus")
assert model._process is process

# Ctrl-C ends the wait. The next image has a process of its own, and so it has after a kill.
while process.poll() is None:  # until the signal comes while Python waits
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    raises(KeyboardInterrupt, "", lambda: [model.segment(arrays[0], recurrences=32) for _ in range(1000)])
same(model.segment(arrays[0]), pathlib.Path(images[0]).stem)
model._process.kill()
raises(mrprism.Error, "ended", model.segment, arrays[0])
same(model.segment(arrays[0]), pathlib.Path(images[0]).stem)

# The notebook runs.
notebook = json.loads((pathlib.Path(__file__).parents[1] / "python/outlines.ipynb").read_text())
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]))
assert one.shape == result.image.shape[:2] and (one >= all_).all() and "cup" in repr(result)
model.close()
model = mrprism.open(weights, device="reference")

# The process ends with the model: by close, with and garbage.
process = model._process
model.close(), model.close()
assert gone(process)
raises(mrprism.Error, "closed", model.segment, arrays[0])
with mrprism.open(weights, device="reference") as model:
    process = model._process
assert gone(process)
model = mrprism.open(weights, device="reference")
process = model._process
del model
gc.collect()
assert gone(process)
