package imageio

import "mrprism/internal/files/nifti"

// Pictures is DecodeSlice for many pictures of one file. It unpacks a NIfTI once, and finds black
// and white of its volume once. Pictures may be decoded at the same time.
func Pictures(name string, data []byte) (func(slice int) (*Image, error), error) {
	r := readerOf(data)
	if r == nil {
		return nil, notImage(name, data)
	}
	if r.format == "nifti" {
		var err error
		if data, err = nifti.Unpack(data); err != nil {
			return nil, decodeError(name, r.format, err)
		}
		r.open = nifti.Shared()
	}
	return func(slice int) (*Image, error) {
		header, failed := r.header(name, data, slice)
		if failed != nil {
			return nil, failed
		}
		return header.decode(name, false)
	}, nil
}
