// SPDX-License-Identifier: MIT
// golang.org/x/crypto/ssh through the gateway: ADDRESS USER PASSWORD HOST-KEY-LINE.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func wanted(what string, is bool) {
	if !is {
		must(errors.New(what))
	}
}

func main() {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(os.Args[4]))
	must(err)
	client, err := ssh.Dial("tcp", os.Args[1], &ssh.ClientConfig{
		User:            os.Args[2],
		Auth:            []ssh.AuthMethod{ssh.Password(os.Args[3])},
		HostKeyCallback: ssh.FixedHostKey(key),
		Timeout:         60 * time.Second,
	})
	must(err)
	session, err := client.NewSession()
	must(err)
	var out, errors bytes.Buffer
	session.Stdout, session.Stderr = &out, &errors
	err = session.Run("echo out; echo err >&2; exit 7")
	status, is := err.(*ssh.ExitError)
	wanted("an exit code of 7", is && status.ExitStatus() == 7)
	wanted("both outputs", out.String() == "out\n" && errors.String() == "err\n")

	data := bytes.Repeat([]byte("0123456789abcdef"), 65536)
	session, err = client.NewSession()
	must(err)
	session.Stdin = bytes.NewReader(data)
	echoed, err := session.Output("cat")
	must(err)
	wanted("what was given", bytes.Equal(echoed, data))

	session, err = client.NewSession()
	must(err)
	must(session.RequestPty("xterm", 31, 111, ssh.TerminalModes{ssh.ECHO: 0}))
	input, err := session.StdinPipe()
	must(err)
	output, err := session.StdoutPipe()
	must(err)
	must(session.Shell())
	_, err = io.WriteString(input, "stty size; exit 3\n")
	must(err)
	shown, err := io.ReadAll(output)
	must(err)
	status, is = session.Wait().(*ssh.ExitError)
	wanted("a terminal's size in "+string(shown), bytes.Contains(shown, []byte("31 111")))
	wanted("a shell's exit code", is && status.ExitStatus() == 3)
	_, _, err = client.SendRequest("keepalive@openssh.com", true, nil)
	must(err)
	must(client.Close())
	fmt.Println("ok")
}
