package sandbox

import "iter"

// Files are files of the host that a program may read but not change. A runner without
// a file system, such as that of package jsrun, ignores them.
type Files struct {
	// Dir is the folder in which the program finds them: absolute, with slashes.
	Dir string
	// Key says what they are: of two with one key, a runner may give the program
	// either. It is called once for a run, by a runner that has a use for files;
	// with an empty key there are none.
	Key func() string
	// All yields each file, or the error that ends it. It may be called more
	// than once, from any goroutine, and after Run has returned.
	All iter.Seq2[File, error]
}

// A File is one of Files.
type File struct {
	// Path is relative to Files.Dir, with slashes, and leads nowhere else.
	Path string
	// Executable lets programs start it.
	Executable bool
	Data       []byte
}
