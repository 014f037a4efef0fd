package main

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// reservePort finds a free port of 127.0.0.1 and holds it until the file is closed. The socket
// is bound and never listens, so the API server can share the port (SO_REUSEPORT on both sides)
// and gets all connections, while no other program can take it in between.
func reservePort() (port string, hold *os.File, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	unix.CloseOnExec(fd)
	hold = os.NewFile(uintptr(fd), "port")
	if err := bindFree(fd); err != nil {
		_ = hold.Close()
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		_ = hold.Close()
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return strconv.Itoa(address.(*unix.SockaddrInet4).Port), hold, nil
}

func bindFree(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())})
}
