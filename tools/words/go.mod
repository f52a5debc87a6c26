module github.com/mcpbroker/mcpbroker/tools/words

go 1.26.0

require github.com/mcpbroker/mcpbroker v0.0.0

require github.com/blevesearch/snowballstem v0.9.0 // indirect

replace github.com/mcpbroker/mcpbroker => ../..
