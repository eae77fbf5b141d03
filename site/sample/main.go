// Command sample writes the site's sample photograph, drawn by our generator, to the file named by its argument.
package main

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"

	"mrprism/internal/data/synthetic"
)

// The sample is as large as an ordinary fundus camera's picture, so that its use shows the whole way from photograph to region.
const (
	seed          = 11
	width, height = 1536, 1152
	quality       = 90
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sample FILE.jpg")
		os.Exit(2)
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, synthetic.Photograph(seed, width, height), &jpeg.Options{Quality: quality})
	if err == nil {
		err = os.WriteFile(os.Args[1], out.Bytes(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}
