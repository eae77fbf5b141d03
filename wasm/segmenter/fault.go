//go:build js

package main

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

// fault is an error as the page shows it: what happened, and what the user can do.
type fault struct{ Code, Message, Next string }

func (f fault) Error() string { return f.Message }

// faultOf words an error for the page.
func faultOf(err error) fault {
	var f fault
	var picture *imageio.Error
	var mismatch *weights.MismatchError
	var options *segment.OptionError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled):
		return fault{Code: "cancelled", Message: "Cancelled."}
	case errors.As(err, &picture):
		return fault{"image", picture.Name + ": " + picture.Problem + ".", sentence(picture.Advice) + "."}
	case errors.Is(err, model.ErrNoRanges):
		return fault{"weights", sentence(err.Error()) + ".", "Open the page without ?precision=int8, or choose another model."}
	case errors.As(err, &mismatch):
		return fault{"weights", sentence(err.Error()) + ".", "Choose another model, or open a .safetensors file written by MrPrism's train."}
	case errors.As(err, &options):
		return fault{"options", sentence(err.Error()) + ".", "Correct the options that the script gives."}
	case errors.Is(err, gpu.ErrOutOfMemory):
		return fault{"memory", "The memory does not suffice: " + err.Error() + ".", "Close other pages, or use a smaller image."}
	case errors.Is(err, gpu.ErrLost):
		return fault{"lost", "The graphics processor was lost: " + err.Error() + ".", "Try again."}
	case errors.Is(err, gpu.ErrValidation), errors.Is(err, gpu.ErrInternal):
		return fault{"gpu", "The graphics processor refused the computation: " + err.Error() + ".", "No result is shown. Please report this with the adapter's name."}
	case errors.Is(err, model.ErrNothing), errors.Is(err, model.ErrNotFinite), errors.Is(err, model.ErrWrong):
		return fault{"refused", sentence(err.Error()) + ".", "No mask is shown. Try again; please report this with the adapter's name."}
	default:
		return fault{"internal", sentence(err.Error()) + ".", "Try again; if it stays, reload the page."}
	}
}

// sentence begins with a capital letter, unless it begins with a file's name.
func sentence(s string) string {
	s = strings.TrimSuffix(s, ".")
	first, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, "./") {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
