package vector

// fused is x y + z, rounded once: the compiler takes the processor's instruction for it. The
// conversion keeps z from being the product that is fused.
func fused(x, y, z float32) float32 { return x*y + float32(z) }

// Callers need no sum in float64 here.
func wide(x, y, z float32) float64 { return 0 }
func halfWay(float64) bool         { return true }
