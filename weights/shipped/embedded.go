//go:build !js

package shipped

import (
	"embed"
	"fmt"
)

// The pattern matches *.md and *.safetensors, and something even when there is no model.
//
//go:embed *.[ms][da]*
var files embed.FS

// File returns a shipped file's bytes: a model or its card, named as in the manifest.
func File(name string) ([]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("weights: %s was not there when this program was built", name)
	}
	return data, nil
}
