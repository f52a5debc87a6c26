// Package spawntest is for tests of what is started from a thread that ends.
package spawntest
