package tensor

import (
	"fmt"
	"math"
	"strings"

	"mrprism/internal/gpu"
	"mrprism/internal/half"
)

// halfSuffix ends the names of programs for floats that are stored as F16.
const halfSuffix = "/f16"

// forHalves makes of WGSL as it stands WGSL for storage of F16: such a file reads and writes all storage of floats through `real`, `real4`,
// and may say HALF where it computes with them.
var forHalves = strings.NewReplacer(
	"\nalias real = f32;", "\nalias real = f16;",
	"\nalias real4 = vec4<f32>;", "\nalias real4 = vec4<f16>;",
	"\nconst HALF: bool = false;", "\nconst HALF: bool = true;",
)

// halved is the source for storage of F16. It panics on one that has no `real`.
func halved(source string) string {
	out := forHalves.Replace(source)
	if !strings.Contains(out, "\nalias real = f16;") {
		panic(fmt.Sprintf("tensor: a plan of halves needs a kernel that does not say what its storage holds (alias real):\n%.200s …", source))
	}
	return "enable f16;\n" + out
}

// encode gives floats as a buffer of F32 or F16 holds them. What is finite and too large for a half is an error, since infinity may pass
// for a number later, behind a sigmoid.
func encode(name string, floats gpu.ElementType, values []float32) ([]byte, error) {
	if floats == gpu.F16 {
		for i, v := range values {
			if abs := math.Abs(float64(v)); abs >= half.Most+16 && abs <= math.MaxFloat32 { // what would be rounded up to infinity
				return nil, fmt.Errorf("tensor: element %d of %s is %g, and f16 ends at %d: use the precision f32", i, name, v, half.Most)
			}
		}
	}
	return floats.Encode(values), nil
}
