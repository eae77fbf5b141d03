package mrprism_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mrprism"
	_ "mrprism/weights/shipped" // the models that ship, by name
)

func Example() {
	m, err := mrprism.Open("fundus")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	img, err := mrprism.ReadImage(photograph)
	if err != nil {
		log.Fatal(err)
	}
	r, err := m.Segment(context.Background(), img)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Structures {
		fmt.Printf("%s: %.0f %% of the picture\n", s.Name, 100*float64(s.Area)/float64(r.Width*r.Height))
		if err := s.WritePNG(filepath.Join(folder, s.Name+".png")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// disc: 2 % of the picture
	// cup: 1 % of the picture
}

// Options say where to look and what computes. The end of the context ends the computation.
func ExampleModel_Segment() {
	m, err := mrprism.Open(filepath.Join("weights", "shipped", "fundus.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	img, err := mrprism.ReadImage(photograph)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := m.Segment(ctx, img, mrprism.Region(0, 0, img.Height), mrprism.Device("processor"), mrprism.Eye("left"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Region, r.Structures[0].Trust)
	for _, level := range r.Structures[0].Raters {
		fmt.Println("disc,", level.By)
	}
	// Output:
	// (0,0)-(480,480) trusted
	// disc, at least 1 of 4 experts
	// disc, at least 2 of 4 experts
	// disc, at least 3 of 4 experts
	// disc, at least 4 of 4 experts
}

// Errors have kinds, and their texts say what to do.
func ExampleOpen() {
	_, err := mrprism.Open("fundos")
	text, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(text, errors.Is(err, mrprism.ErrUnknownModel))
	_, err = mrprism.ReadImage("mrprism.go")
	text, _, _ = strings.Cut(err.Error(), ",")
	fmt.Println(text, errors.Is(err, mrprism.ErrNotAnImage))
	_, err = mrprism.ReadImage("nowhere.png")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// fundos: there is no such file (did you mean fundus?) true
	// mrprism.go: this is a text file true
	// true
}
