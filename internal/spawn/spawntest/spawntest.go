// Package spawntest tests processes that are started from a thread that ends.
package spawntest
