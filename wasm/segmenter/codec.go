//go:build js

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall/js"

	"mrprism/internal/files/codec"
	"mrprism/internal/files/raster"
)

// decoders implements codec.Platform through decoding.js.
type decoders struct{}

// decoderOf are the decoders' names.
var decoderOf = map[codec.Kind]string{codec.JPEG2000: "openjpeg", codec.HTJ2K: "openjph", codec.JPEGLS: "charls"}

// Missing implements codec.Platform.
func (decoders) Missing(k codec.Kind) error {
	if js.Global().Call("mrprismDecodes", decoderOf[k]).Bool() {
		return nil
	}
	return raster.Refused{
		Problem: fmt.Sprintf("the picture in it is %s, and this page was built without its decoder", k),
		Advice:  "export it without compression, or tell who serves the page to build it with npm",
	}
}

// Decode implements codec.Platform.
func (decoders) Decode(k codec.Kind, data []byte, f codec.Form) ([]byte, bool, error) {
	form := map[string]any{"width": f.W, "height": f.H, "components": f.Components, "bits": f.Bits}
	got, err := await(context.Background(), js.Global().Call("mrprismDecode", decoderOf[k], toJS(data), form))
	if err != nil {
		return nil, false, err
	}
	if missing := got.Get("missing"); missing.Truthy() {
		return nil, false, raster.Refused{
			Problem: fmt.Sprintf("the decoder of %s could not be loaded: %s", k, missing.String()),
			Advice:  "check the network and that the site is served, then open the file again",
		}
	}
	if failed := got.Get("error"); failed.Truthy() {
		return nil, false, errors.New(failed.String())
	}
	return bytesOf(got.Get("samples")), got.Get("planar").Bool(), nil
}
