// Package typefiles writes generated wrappers of tools into a folder, and removes those of
// tools that no longer exist. Files of others are left alone.
package typefiles
