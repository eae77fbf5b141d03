//go:build !js

package conv_test

import (
	"testing"

	"mrprism/shaders/shadertest"
)

func TestInBrowser(t *testing.T) { shadertest.InBrowser(t) }

func TestMain(m *testing.M) { shadertest.Main(m) }
