package imageio

import (
	"strings"

	"mrprism/internal/files/nifti"
)

// HeaderOf is the file by which we name a pair of NIfTI files: NAME.hdr for NAME.img. It is path
// itself for all others.
func HeaderOf(path string) string {
	switch Extension(path) {
	case ".img":
		return path[:len(path)-4] + ".hdr"
	case ".IMG":
		return path[:len(path)-4] + ".HDR"
	}
	return path
}

// Whole is the content of an image file. For NIfTI's NAME.hdr or NAME.img it is the content of
// both, if read can read the other file.
func Whole(path string, data []byte, read func(path string) ([]byte, error)) []byte {
	head := HeaderOf(path)
	if head != path {
		if header, err := read(head); err == nil && nifti.IsHeader(header) {
			return nifti.Join(header, data)
		}
		return data
	}
	if !nifti.IsHeader(data) {
		return data
	}
	values := strings.TrimSuffix(path, ".hdr") + ".img"
	if stem, upper := strings.CutSuffix(path, ".HDR"); upper {
		values = stem + ".IMG"
	}
	if values, err := read(values); err == nil {
		return nifti.Join(data, values)
	}
	return data
}
