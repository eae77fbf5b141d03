//go:build !js

package computing

import _ "mrprism/model/rivals" // the page does not download the other methods
