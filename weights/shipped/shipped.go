// Package shipped has the files of the models that ship. Importing it lets weights.Load, and
// mrprism.Open, find them by name. They are embedded into native programs. The page fetches them,
// and no program of the page embeds them.
package shipped

import "mrprism/weights"

func init() { weights.Embedded = File }
