// Package spawn starts child processes that the kernel ends with this one.
//
// Whoever starts a process sets its SysProcAttr; on Linux with Pdeathsig, which
// prctl(2) calls the parent-death signal. Its "parent" is the thread that forked,
// not the process, and Go ends threads, so a child that any thread starts may be
// killed while its owner lives. Start has one thread that stays.
package spawn
