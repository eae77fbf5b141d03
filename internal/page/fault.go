package page

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// Fault is an error as the page shows it: a code for programs, what happened, and what the user can
// do.
type Fault struct{ Code, Message, Next string }

func (f Fault) Error() string { return f.Message }

// FaultOf words an error for the page.
func FaultOf(err error) Fault {
	var f Fault
	var picture *imageio.Error
	var mismatch *weights.MismatchError
	var options *segment.OptionError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled):
		return Fault{Code: "cancelled", Message: "Cancelled."}
	case errors.As(err, &picture) && errors.Is(err, segment.ErrMark):
		return Fault{"evidence", picture.Name + ": " + picture.Problem + ".", sentence(picture.Advice) + "."}
	case errors.As(err, &picture):
		return Fault{"image", picture.Name + ": " + picture.Problem + ".", sentence(picture.Advice) + "."}
	case errors.Is(err, model.ErrNoRanges):
		return Fault{"weights", sentence(err.Error()) + ".", "Open the page without ?precision=int8, or choose another model."}
	case errors.As(err, &mismatch):
		return Fault{"weights", sentence(err.Error()) + ".", "Choose another model, or open a .safetensors file written by MrPrism's train."}
	case errors.As(err, &options):
		return Fault{"options", sentence(err.Error()) + ".", "Correct the options that the script gives."}
	case errors.Is(err, gpu.ErrOutOfMemory):
		return Fault{"memory", "The memory does not suffice: " + err.Error() + ".", "Close other pages, or use a smaller image."}
	case errors.Is(err, gpu.ErrLost):
		return Fault{"lost", "The graphics processor was lost: " + err.Error() + ".", "Try again."}
	case refused(err):
		return Fault{"gpu", "The graphics processor refused the computation: " + err.Error() + ".", "No result is shown. Please report this with the adapter's name."}
	case wrong(err):
		return Fault{"refused", sentence(err.Error()) + ".", "No mask is shown. Try again; please report this with the adapter's name."}
	default:
		return Fault{"internal", sentence(err.Error()) + ".", "Try again; if it stays, reload the page."}
	}
}

// sentence returns a text with a capital letter first, unless a file's name is first, and without
// its full stop.
func sentence(s string) string {
	s = strings.TrimSuffix(s, ".")
	first, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, "./") {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
