//go:build simd128

package vector

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var expected = flag.String("levels", "", "that the engine has, separated by commas")

func TestEngineHasLevels(t *testing.T) {
	if *expected == "" {
		t.Skip("-levels says what is expected")
	}
	var names []string
	for _, l := range Levels() {
		names = append(names, l.Name)
	}
	assert.Equal(t, *expected, strings.Join(names, ","))
	assert.Equal(t, names[0], Current().Name, "the fastest is used")
}

func system() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// The modules see memory that the program gets after their compilation.
func TestMemoryGrows(t *testing.T) {
	const rows, k, n = 5, 300, 24
	a, w := random(rows*k, 1), random(k*n, 2)
	multiply := func(c []float32) []float32 {
		var m Matrix
		m.Reset(k, n)
		for p := range m.Panels() {
			m.Pack(p, 0, k, w, n)
		}
		m.Multiply(rows, a, k, 1, c, n, false)
		GELU(c)
		return c
	}
	before := Current()
	Use(plain)
	want := multiply(make([]float32, rows*n))
	Use(before)
	var rooms [][]float32
	asLevels(t, func(l *Level) {
		had, more := system(), 64<<20
		rooms = append(rooms, make([]float32, more/4))
		assert.Greater(t, system(), had)
		room := rooms[len(rooms)-1]
		assert.InDeltaSlice(t, want, multiply(room[len(room)-rows*n:]), 1e-4, l.Name)
	})
}
