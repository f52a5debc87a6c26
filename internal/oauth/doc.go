// Package oauth signs the broker in to remote servers that ask for OAuth 2.1.
//
// There are two halves. Login is the one that needs a person: it finds the
// authorization server, opens a browser, waits for the answer on the loopback
// interface and stores the tokens. A Manager's Handler is the other: it gives
// the stored token to each request, refreshes it in time, and never asks
// anybody anything. When a token can no longer be had without a person, its
// errors are *SignInError.
//
// Tokens are kept in the system's keyring, or, where there is none, in files of
// mode 0600 below the state directory. Several brokers may share that
// directory: refreshing is done under a file lock, since most authorization
// servers accept a refresh token only once.
package oauth
