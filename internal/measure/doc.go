// Package measure runs labelled queries through the search of a broker, as an agent would,
// and prints how good it is.
package measure
