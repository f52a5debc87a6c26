// Package oauth signs the broker in to remote servers that require OAuth 2.1.
//
// It has two parts. Login needs a person: it finds the authorization server, opens a browser,
// waits for the answer on the loopback interface and stores the tokens. A Manager's Handler adds
// the stored token to each request, refreshes it in time, and never asks a person. If a token is
// only available through a person, it returns a *SignInError.
// errors are *SignInError.
// Tokens are stored in the system's keyring or, without one, in files of mode 0600 below the state
// directory. Several brokers may share that directory: a token is refreshed under a file lock,
// since most authorization servers accept a refresh token only once.
// servers accept a refresh token only once.
package oauth
