"""Writes the arrays of numpy_test.go. It ran with NumPy 1.24 (python3-numpy of Debian 12)."""
import numpy as np

a = np.arange(6).reshape(2, 3) / 8
arrays = {
    "c_f4": (a.astype("<f4"), None),
    "fortran_f8": (np.asfortranarray(a), None),
    "big_f4": (a.astype(">f4"), None),
    "v2_f8": (a, (2, 0)),
    "u1": (np.array([[0, 1], [128, 255]], "u1"), None),
    "bool": (np.array([[True, False]]), None),
    "i4": (np.array([[1]], "i4"), None),
    "3d": (np.asfortranarray(np.arange(24).reshape(2, 3, 4).astype("f4")), (3, 0)),
}
for name, (array, version) in arrays.items():
    with open(name + ".npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
