package skill

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/ramdisk"
)

func TestMain(m *testing.M) { ramdisk.Main(m) }
