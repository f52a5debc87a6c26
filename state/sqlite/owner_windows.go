package sqlite

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// processStart returns when a process started, and whether there is such a
// process that has not ended.
func processStart(pid int) (start string, exists bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return "", errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer windows.CloseHandle(h)
	if event, err := windows.WaitForSingleObject(h, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return "", false
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", true
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}

// bootID is not needed: the start of a process is a date here.
func bootID() string { return "" }

func pidSpace() string { return "" }
