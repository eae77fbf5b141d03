package imageio

import (
	"bytes"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"mrprism/internal/files/raster"
)

// The kinds of faults; every *Error wraps one of them.
var (
	ErrNotImage    = errors.New("not an image")
	ErrTooLarge    = errors.New("image too large")
	ErrDamaged     = errors.New("damaged image")
	ErrUnsupported = errors.New("unsupported image")
)

// Error says which file could not be read, why, and what to do next.
type Error struct {
	Name    string // the file, as the caller named it
	Problem string
	Advice  string
	Kind    error // ErrNotImage, ErrTooLarge, ErrDamaged or ErrUnsupported
}

// Error reads "name: problem; advice".
func (e *Error) Error() string { return fmt.Sprintf("%s: %s; %s", e.Name, e.Problem, e.Advice) }

// Unwrap gives the kind to errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

func damaged(name, format, problem string, args ...any) *Error {
	return &Error{
		Name: name, Problem: fmt.Sprintf("this %s is damaged: ", display(format)) + fmt.Sprintf(problem, args...),
		Advice: "copy or export the file again from where it came from", Kind: ErrDamaged,
	}
}

func tooLarge(name, problem string, args ...any) *Error {
	return &Error{
		Name: name, Problem: fmt.Sprintf(problem, args...), Kind: ErrTooLarge,
		Advice: fmt.Sprintf("make it smaller first; MrPrism reads every image up to %d megapixels", safePixels/1_000_000),
	}
}

// decodeError turns an error of a reader into an *Error.
func decodeError(name, format string, err error) *Error {
	if of, ok := errors.AsType[raster.Refused](err); ok {
		return &Error{Name: name, Problem: of.Problem, Advice: of.Advice, Kind: ErrUnsupported}
	}
	unsupported := err // what is not read, for the message
	of, ours := errors.AsType[raster.Unsupported](err)
	if ours {
		unsupported = of
	}
	_, ofPNG := errors.AsType[png.UnsupportedError](err)
	_, ofJPEG := errors.AsType[jpeg.UnsupportedError](err)
	switch {
	case ours, ofPNG, ofJPEG:
		return &Error{
			Name: name, Problem: fmt.Sprintf("MrPrism does not read this kind of %s (%v)", display(format), unsupported),
			Advice: "save it as an ordinary 8-bit PNG", Kind: ErrUnsupported,
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), err == png.FormatError("not enough pixel data"):
		return damaged(name, format, "the file is cut short")
	}
	return damaged(name, format, "%v", err)
}

// display is a format's name in messages.
func display(format string) string {
	switch format {
	case "webp":
		return "WebP"
	case "nifti":
		return "NIfTI file"
	case "dicom":
		return "DICOM file"
	}
	return strings.ToUpper(format)
}

// noSlice is the error if a file lacks the wanted picture.
func noSlice(name string, slice, slices int) *Error {
	return &Error{
		Name: name, Problem: fmt.Sprintf("there is no slice %d; the file has %d", slice, slices),
		Advice: fmt.Sprintf("choose a slice from 1 to %d", slices), Kind: ErrNotImage,
	}
}

// foreign are formats that people try and we do not read, recognised by their first bytes.
var foreign = []struct {
	offset int
	magic  string
	name   string
}{
	{0, "GIF8", "a GIF"}, {4, "ftyp", "a HEIC, AVIF or video"}, {0, "\x00\x00\x00\x0cjP  ", "a JPEG 2000"},
	{0, "PK\x03\x04", "a zip archive"}, {0, "%PDF", "a PDF"},
}

// kinds are the formats that are read, for messages.
const kinds = "PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI"

// notImage describes data of none of the formats that are read.
func notImage(name string, data []byte) *Error {
	e := &Error{Name: name, Advice: "open a " + kinds + " image", Kind: ErrNotImage}
	for _, f := range foreign {
		if len(data) >= f.offset && bytes.HasPrefix(data[f.offset:], []byte(f.magic)) {
			e.Problem, e.Kind = "this is "+f.name+", which MrPrism does not read", ErrUnsupported
			e.Advice = "save it as PNG"
			return e
		}
	}
	switch {
	case len(data) == 0:
		e.Problem = "the file is empty"
	case isText(data[:min(len(data), 512)]):
		e.Problem = "this is a text file, not an image, whatever its name says"
	case HeaderOf(name) != name:
		e.Problem = "this is not a " + kinds + " image by itself"
		e.Advice = "if it holds the values of a NIfTI volume, give it together with " + filepath.Base(HeaderOf(name))
	default:
		e.Problem = "this is not a " + kinds + " image"
	}
	return e
}

// isText reports whether head is printable UTF-8. The last character may be cut off.
func isText(head []byte) bool {
	bad := bytes.IndexFunc(head, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\n\r\t", r)
	})
	return bad < 0 || !utf8.FullRune(head[bad:])
}
